"""`threadkeep diff`: what changed between two checkpoints of a thread."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand

from threadkeep.cli import documents, find, options
from threadkeep.cli.app import app
from threadkeep.cli.changes import Change, MessageChange, changes
from threadkeep.cli.opening import opened
from threadkeep.cli.output import print_json, stdout
from threadkeep.cli.show import is_plumbing
from threadkeep.cli.text import block, counted, moment, one_line, shown_id
from threadkeep.cli.transcript import body, heading, print_indented
from threadkeep.models import CheckpointInfo

_COLORS = {"+": "green", "-": "red", "~": "yellow"}
_NEGATIVE = re.compile(r"-\d+")
_CONTEXT = 2
"""Unchanged lines shown around changed ones."""


class _StepsAreArguments(TyperCommand):
    """Takes `-1`, the step of a run's first checkpoint, for an argument and not for an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; `find.checkpoint_id` strips the blank that hides the sign."""
        return super().parse_args(ctx, [f" {arg}" if _NEGATIVE.fullmatch(arg) else arg for arg in args])


@app.command(cls=_StepsAreArguments)
def diff(
    thread: options.ThreadArgument,
    a: Annotated[
        str, typer.Argument(metavar="A", help="A checkpoint's id, the beginning of one, a step, or newest.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The checkpoint to compare it with.")],
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Show what changed between two checkpoints of a thread."""
    with opened(db, owner) as memory:
        handle = memory.threads.get(
            thread.removeprefix(" ") if _NEGATIVE.fullmatch(thread.strip()) else thread
        )
        handle.info()
        before = handle.state(find.checkpoint_id(handle, a))
        after = handle.state(find.checkpoint_id(handle, b))
    values, messages = changes(before.values, after.values)
    if as_json:
        print_json(
            {
                "thread_id": handle.thread_id,
                "owner": owner,
                "a": documents.checkpoint(before.checkpoint),
                "b": documents.checkpoint(after.checkpoint),
                "channels": {name: _document(change) for name, change in values.items()},
                "messages": {name: _message_document(change) for name, change in messages.items()},
            }
        )
        return
    console = stdout()
    console.print(Text(shown_id(handle.thread_id), style="bold cyan"), soft_wrap=True)
    for sign, info in (("-", before.checkpoint), ("+", after.checkpoint)):
        console.print(Text(f"{sign} {_place(info)}", style=_COLORS[sign]), soft_wrap=True)
    for name, found in messages.items():
        _print_messages(console, name, found)
    shown = {name: change for name, change in values.items() if not is_plumbing(name)}
    for name, change in shown.items():
        _print_value(console, name, change)
    if not messages and not shown:
        console.print("\nNothing changed.")


def _document(change: Change) -> dict[str, Any]:
    return {
        "change": change.kind,
        "before": documents.plain(change.before),
        "after": documents.plain(change.after),
    }


def _message_document(change: MessageChange) -> dict[str, Any]:
    return {
        "change": change.kind,
        "added": [{"position": n, "message": documents.message(m)} for n, m in change.added],
        "removed": [{"position": n, "message": documents.message(m)} for n, m in change.removed],
        "changed": [
            {"position": n, "before": documents.message(old), "after": documents.message(new)}
            for n, old, new in change.changed
        ],
        "reordered": change.reordered,
    }


def _place(info: CheckpointInfo) -> str:
    return f"{one_line(info.checkpoint_id)}  step {info.step} · {info.source} · {moment(info.created)}"


def _print_messages(console: Console, name: str, change: MessageChange) -> None:
    parts = [
        f"{counted(len(found), 'message')} {verb}"
        for found, verb in ((change.removed, "removed"), (change.changed, "changed"), (change.added, "added"))
        if found
    ]
    parts += ["order changed"] if change.reordered else []
    _print_title(console, name, ", ".join(parts) or change.kind)
    for n, message in change.removed:
        _print_signed(console, "-", heading(message, n), body(message))
    for n, old, new in change.changed:
        _print_signed(console, "~", heading(new, n), _lines(_as_text(old), _as_text(new)))
    for n, message in change.added:
        _print_signed(console, "+", heading(message, n), body(message))


def _as_text(message: Any) -> str:
    said = "\n".join(str(part) for part in body(message))
    rest = documents.message(message)
    for key in ("text", "content", "tool_calls", "type", "name"):
        del rest[key]
    return f"{said}\n{json.dumps(rest, ensure_ascii=False)}"


def _print_value(console: Console, name: str, change: Change) -> None:
    _print_title(console, name, change.kind)
    before = "" if change.kind == "added" else _pretty(change.before)
    after = "" if change.kind == "removed" else _pretty(change.after)
    for line in _lines(before, after):
        print_indented(console, line)


def _pretty(value: Any) -> str:
    return (
        value if isinstance(value, str) else json.dumps(documents.plain(value), ensure_ascii=False, indent=2)
    )


def _lines(before: str, after: str) -> Iterator[Text]:
    """Yield the changed lines of a text with a few around them."""
    found = difflib.unified_diff(
        block(before).split("\n") if before else [],
        block(after).split("\n") if after else [],
        n=_CONTEXT,
        lineterm="",
    )
    for n, line in enumerate(found):
        if n < 2 or line.startswith("@@"):
            continue
        yield Text(f"{line[0]} {line[1:]}", style=_COLORS.get(line[0], "dim"))


def _print_title(console: Console, name: str, what: str) -> None:
    console.print()
    console.print(
        Text(one_line(name), style="bold") + Text(f"  {what}", style="not bold dim"), soft_wrap=True
    )


def _print_signed(console: Console, sign: str, head: Text, lines: Iterable[Text]) -> None:
    console.print(Text(sign, style=_COLORS[sign]) + head, soft_wrap=True)
    for line in lines:
        print_indented(console, line)
