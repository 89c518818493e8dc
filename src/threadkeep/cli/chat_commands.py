"""What can be typed in a chat besides messages: the slash commands."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from langchain_core.messages import BaseMessage
from rich.text import Text

from threadkeep.cli import chat_context
from threadkeep.cli.output import Column, print_table
from threadkeep.cli.text import counted, moment, one_line, shown_id
from threadkeep.cli.transcript import print_messages
from threadkeep.errors import ConfigurationError

if TYPE_CHECKING:
    from threadkeep.cli.chat_loop import Chat

# A path or a regular expression is a message, not a command.
_COMMAND = re.compile(r"/(\w*)(?:\s+(.*))?", re.DOTALL)
_THREADS = 20
_CHECKPOINTS = 30


class Leave(Exception):
    """The person wants to leave the chat."""


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command: what follows its name, what it does, and how."""

    argument: str
    help: str
    act: Callable[[Chat, str], None]


def names() -> list[str]:
    """Return every command with its slash."""
    return [f"/{name}" for name in COMMANDS]


def run(chat: Chat, text: str) -> bool:
    """Run a line if it is a command; False when it is a message. Raises Leave, and ThreadkeepErrors."""
    match = _COMMAND.fullmatch(text)
    if match is None:
        return False
    name, argument = match[1], (match[2] or "").strip()
    command = COMMANDS.get(name)
    if command is None:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean /{close[0]}? " if close else ""
        raise ConfigurationError(f"there is no command /{name}; {hint}/help lists those there are")
    if argument and not command.argument:
        raise ConfigurationError(f"/{name} takes nothing after it; type it alone")
    command.act(chat, argument)
    return True


def _help(chat: Chat, argument: str) -> None:
    labels = {f"/{name} {command.argument}".rstrip(): command.help for name, command in COMMANDS.items()}
    labels |= {"Ctrl-C": "stop an answer", "Ctrl-D": "leave"}
    width = max(map(len, labels))
    for label, meaning in labels.items():
        chat.console.print(Text.assemble((label.ljust(width), "bold"), f"  {meaning}"), soft_wrap=True)


def _history(chat: Chat, argument: str) -> None:
    messages = _begun(chat)
    found = list(chat.thread.history(limit=_CHECKPOINTS))
    branches = {info.branch for info in found}
    turns = {number: _turns(list(chat.thread.messages(branch=number))) for number in branches}
    several = len(branches) > 1
    print_table(
        [
            Column("TURN", "number"),
            Column("STEP", "number"),
            Column("SOURCE"),
            Column("MSGS", "number"),
            Column("MADE"),
            *([Column("BRANCH", "number")] if several else []),
            Column("CHECKPOINT", "id"),
        ],
        [
            (
                str(turns[info.branch][min(info.messages, len(turns[info.branch]) - 1)]),
                str(info.step),
                one_line(info.source),
                f"{info.messages:,}",
                moment(info.created)[5:],
                *([str(info.branch)] if several else []),
                one_line(info.checkpoint_id),
            )
            for info in found
        ],
    )
    turn = _turns(messages)[-1]
    more = chat.thread.info().checkpoints - len(found)
    older = f" {counted(more, 'older checkpoint')} not shown." if more > 0 else ""
    _say(chat, f"Newest first, in turn {turn} now.{older} /fork N goes back to the end of turn N.")


def _messages(chat: Chat, argument: str) -> None:
    print_messages(chat.console, _begun(chat))


def _usage(chat: Chat, argument: str) -> None:
    _begun(chat)
    usage = chat.thread.usage()
    cached = f", of which {usage.cache_read_tokens:,} were cached" if usage.cache_read_tokens else ""
    unknown = f" {counted(usage.unknown, 'more call')} failed, or reported nothing." if usage.unknown else ""
    chat.console.print(
        Text(
            f"{counted(usage.calls - usage.unknown, 'model call')} reported {usage.input_tokens:,} tokens in{cached}, "
            f"and {usage.output_tokens:,} out.{unknown}"
        ),
        soft_wrap=True,
    )


def _context(chat: Chat, argument: str) -> None:
    chat_context.print_view(chat.console, chat.foresee(argument), chat.policy)


def _fork(chat: Chat, argument: str) -> None:
    humans = [message for message in _begun(chat) if message.type == "human"]
    if not argument.isdecimal() or int(argument) >= len(humans):
        possible = f"0 to {len(humans) - 1}" if len(humans) > 1 else "0"
        raise ConfigurationError(
            f"/fork goes back to the end of a turn, {possible}; give one of these numbers"
        )
    turn = int(argument)
    left = next((branch.branch for branch in chat.thread.branches() if branch.current), 0)
    info = chat.thread.fork(before=humans[turn].id)
    chat.forget_unanswered()
    _say(
        chat,
        f"Back at the end of turn {turn}, {counted(info.messages, 'message')}, on branch {info.branch}. "
        f"What came after stays on branch {left}.",
    )


def _threads(chat: Chat, argument: str) -> None:
    page = chat.memory.threads.list(limit=_THREADS)
    columns = [Column(""), Column("THREAD", "id"), Column("TITLE", "text"), Column("MSGS", "number")]
    rows = [
        (
            "*" if info.thread_id == chat.thread.thread_id else "",
            shown_id(info.thread_id),
            one_line(info.title or info.preview),
            f"{info.messages:,}",
            moment(info.updated)[:16],
        )
        for info in page
    ]
    if rows:
        print_table([*columns, Column("UPDATED")], rows)
    more = " These are the latest; `threadkeep threads --all` lists every one." if page.cursor else ""
    _say(chat, f"Another one: leave, and start with --thread NAME.{more}")


def _retry(chat: Chat, argument: str) -> None:
    if not chat.retry():
        raise ConfigurationError("every message has its answer, so there is nothing to repeat")


def _quit(chat: Chat, argument: str) -> None:
    raise Leave


def _begun(chat: Chat) -> list[BaseMessage]:
    messages = chat.transcript()
    if not messages:
        raise ConfigurationError("nothing was said in this thread yet; type a message first")
    return messages


def _turns(messages: Sequence[BaseMessage]) -> list[int]:
    """Return, by how many of the messages there are, how many turns they make."""
    counts = [0]
    for message in messages:
        counts.append(counts[-1] + (message.type == "human"))
    return counts


def _say(chat: Chat, text: str) -> None:
    chat.console.print(Text(text, style="dim"), soft_wrap=True)


COMMANDS = {
    "history": Command("", "the thread's checkpoints, with their turns", _history),
    "messages": Command("", "all that was said", _messages),
    "usage": Command("", "tokens of the thread's model calls", _usage),
    "context": Command("[TEXT]", "what the next call will be sent, and why", _context),
    "fork": Command("N", "go back to the end of turn N, on a branch of its own", _fork),
    "threads": Command("", "the conversations in this database", _threads),
    "retry": Command("", "ask again for an answer that failed or was stopped", _retry),
    "help": Command("", "this list", _help),
    "quit": Command("", "leave", _quit),
}
