"""References to what has left the view, and how they are read and searched."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage

from threadkeep.context.planning.history import History
from threadkeep.context.summaries.fences import RECALL_TOOLS, is_own
from threadkeep.context.validity.calls import is_human, is_system, is_tool

_REFERENCE: Final = re.compile(r"([0-9a-f]{8})(?:-([0-9]{1,7})-([0-9a-f]{4}))?(?:#([0-9]{1,5}))?")
_WORD: Final = re.compile(r"[぀-ヿ㐀-鿿豈-﫿가-힯]|[^\W_]+")
_SNIPPET: Final = 240


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """Part of a conversation, as a recall tool returns it.

    Args:
        text: Who said what; a sentence of explanation where there is nothing.
        references: The references named in it.
        found: Whether there was anything.
    """

    text: str
    references: tuple[str, ...] = ()
    found: bool = True


def reference_of(history: History, start: int, end: int) -> str:
    """Return the reference of a range of messages: short, and the same as long as their contents are."""
    first = history.digest(start)[:4].hex()
    if end - start == 1:
        return first
    return f"{first}-{end - start}-{history.chained(bytes(16), start, end)[:2].hex()}"


def resolve(history: History, reference: str) -> tuple[int, int] | None:
    """Return the range of messages that a reference stands for; None where they are not, or no longer, there."""
    parsed = _REFERENCE.fullmatch(reference.strip())
    if parsed is None:
        return None
    first, count, check = bytes.fromhex(parsed[1]), int(parsed[2] or 1), parsed[3]
    for index in range(len(history) - count + 1):
        if history.digest(index)[:4] == first and (
            check is None or history.chained(bytes(16), index, index + count)[:2].hex() == check
        ):
            return index, index + count
    return None


def read(history: History, reference: str, *, limit: int, count: Callable[[str], int]) -> Passage:
    """Return what a reference stands for, in pages of at most `limit` tokens.

    Args:
        history: The branch in which to look.
        reference: As the view names it; with `#2` at the end its second page, and so on.
        limit: Tokens of the answer.
        count: Counts the tokens of a text.
    """
    place = resolve(history, reference)
    if place is None:
        text = f"Nothing is there under the reference {reference!r}: it is mistyped, or what it stood for has changed."
        return Passage(text=text, found=False)
    parsed = _REFERENCE.fullmatch(reference.strip())
    page = max(1, int(parsed[4] or 1)) if parsed else 1
    bare = reference.strip().partition("#")[0]
    shown = [_entry(m) for m in history.messages[place[0] : place[1]] if not is_own(m)]
    pages = islice(_pages("\n".join(shown), max(16, limit - 48), count), page - 1, page + 1)
    page_text = next(pages, None)
    if page_text is None:
        return Passage(text=f"{bare} has no page {page}.", references=(bare,), found=False)
    more = "" if next(pages, None) is None else f'\n[page {page}; it goes on with "{bare}#{page + 1}"]'
    return Passage(text=page_text + more, references=(bare,))


def search(history: History, query: str, *, limit: int, count: Callable[[str], int]) -> Passage:
    """Return the messages that match some words best, each as a line with its reference.

    Args:
        history: The branch in which to look. What the recall tools returned earlier is not searched.
        query: Words; case does not matter. Rare words weigh more.
        limit: Tokens of the answer.
        count: Counts the tokens of a text.
    """
    words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(query)))[:32]
    texts = dict(_searched(history.messages))
    found = _ranked(texts, words)
    lines: list[str] = []
    references: list[str] = []
    room = limit
    for index in found:
        reference = reference_of(history, index, index + 1)
        line = f"[{reference}] {_role(history.messages[index])}: {_snippet(texts[index], words)}"
        room -= count(line) + 1
        if room < 0:
            break
        lines.append(line)
        references.append(reference)
    if not lines:
        return Passage(text=f"Nothing in this conversation matches {query!r}.", found=False)
    return Passage(text="\n".join(lines), references=tuple(references))


def _searched(messages: Sequence[BaseMessage]) -> Iterator[tuple[int, str]]:
    for index, message in enumerate(messages):
        if is_system(message) or is_own(message):
            continue
        text = _said(message)
        if text:
            yield index, text


def _said(message: BaseMessage) -> str:
    """Return a message's text and the arguments of its tool calls; those of the recall tools are no content."""
    parts: list[str] = [str(message.text)]
    if isinstance(message, AIMessage):
        parts += [f"{c['name']}({c['args']})" for c in message.tool_calls if c["name"] not in RECALL_TOOLS]
    return "\n".join(part for part in parts if part)


def _entry(message: BaseMessage) -> str:
    name = f" ({message.name})" if message.name else ""
    return f"[{_role(message)}{name}] {_said(message)}"


def _ranked(texts: dict[int, str], words: list[str]) -> list[int]:
    """Return the messages that hold any of the words: best first, the newer of equals first."""
    holding: Tally[str] = Tally()
    matches: dict[int, list[str]] = {}
    for index, text in texts.items():
        folded = text.casefold()
        inside = [word for word in words if word in folded]
        if inside:
            matches[index] = inside
            holding.update(inside)
    weight = {word: log(1 + len(texts) / holding[word]) for word in holding}
    return sorted(matches, key=lambda i: (-sum(weight[word] for word in matches[i]), -i))


def _snippet(text: str, words: list[str]) -> str:
    folded = text.casefold()
    places = [place for place in (folded.find(word) for word in words) if place >= 0]
    begin = max(0, min(places, default=0) - _SNIPPET // 3)
    piece = " ".join(text[begin : begin + _SNIPPET].split())
    return ("…" if begin else "") + piece + ("…" if begin + _SNIPPET < len(text) else "")


def _role(message: BaseMessage) -> str:
    if is_human(message):
        return "user"
    if is_system(message):
        return "system"
    return "tool" if is_tool(message) else "assistant"


def _pages(text: str, limit: int, count: Callable[[str], int]) -> Iterator[str]:
    """Cut a text into pages that fit, at the end of a line where there is one."""
    while text:
        size = _fitting(text, limit, count)
        line = text.rfind("\n", size // 2, size)
        size = line + 1 if line > 0 and size < len(text) else size
        yield text[:size].rstrip("\n")
        text = text[size:]


def _fitting(text: str, limit: int, count: Callable[[str], int]) -> int:
    """Return how many characters from the start fit; at least one."""
    sizes = range(1, min(len(text), limit * 8) + 1)
    return max(1, bisect_left(sizes, True, key=lambda size: count(text[:size]) > limit))
