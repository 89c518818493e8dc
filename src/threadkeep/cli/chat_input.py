"""Where the lines of a chat come from: a person at a terminal, or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

ReadLine = Callable[[], str | None]
"""Returns the next line, or None when there are no more. A line may hold line ends when it was pasted."""

PROMPT = "> "


def reader(history: Iterable[str], commands: Iterable[str]) -> ReadLine:
    """Return how to read lines here; `history` is what the up arrow recalls, oldest first."""
    if sys.stdin.isatty() and sys.stdout.isatty():
        return _terminal(history, commands)
    return _pipe


def _pipe() -> str | None:
    """Read a line from a pipe and show it, so that the output reads as the conversation it was."""
    line = sys.stdin.readline()
    if not line:
        return None
    text = line.rstrip("\r\n")
    if text.strip() and not sys.stdin.isatty():
        from threadkeep.cli.text import safe

        sys.stdout.write(f"{PROMPT}{safe(text)}\n")
        sys.stdout.flush()
    return text


def _terminal(history: Iterable[str], commands: Iterable[str]) -> ReadLine:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.formatted_text import FormattedText
    from prompt_toolkit.history import InMemoryHistory

    session: PromptSession[str] = PromptSession(
        history=InMemoryHistory(list(history)),
        completer=WordCompleter(list(commands), sentence=True),
        complete_while_typing=False,
        enable_history_search=True,
    )

    def read() -> str | None:
        while True:
            try:
                return session.prompt(FormattedText([("bold ansigreen", PROMPT)]))
            except KeyboardInterrupt:
                sys.stdout.write("(Ctrl-D leaves)\n")
            except EOFError:
                return None

    return read
