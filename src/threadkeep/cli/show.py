"""`threadkeep show`: what was said in a thread, or what a checkpoint of it holds."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from langchain_core.messages import BaseMessage
from rich.console import Console
from rich.text import Text

from threadkeep.cli import documents, find, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import print_json, remark, stdout
from threadkeep.cli.text import block, counted, moment, one_line, shown_id
from threadkeep.cli.transcript import print_indented, print_messages
from threadkeep.errors import ConfigurationError
from threadkeep.models import Branch, State, ThreadInfo
from threadkeep.thread import Thread


@app.command()
def show(
    thread: options.ThreadArgument,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Show the state at a checkpoint instead: its id, the beginning of one, a step, or newest.",
        ),
    ] = None,
    branch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.whole,
            help="The transcript of this branch; by default the current one's.",
        ),
    ] = None,
    last: Annotated[
        int | None, typer.Option(metavar="N", parser=options.count, help="Only the last N messages.")
    ] = None,
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Show what was said in a thread, or a checkpoint's state.

    The transcript holds every message, also those that have left the state.
    """
    if checkpoint is not None and (branch is not None or last is not None):
        raise ConfigurationError(
            "--checkpoint shows a state; leave --branch and --last out, which cut a transcript"
        )
    with opened(db, owner) as memory:
        handle = memory.threads.get(thread)
        info = handle.info()
        if checkpoint is not None:
            _show_state(handle, handle.state(find.checkpoint_id(handle, checkpoint)), as_json)
            return
        branches = handle.branches()
        number = _branch(handle, branches, branch)
        messages = list(handle.messages(branch=branch))
    first = 0 if last is None else max(0, len(messages) - last)
    if as_json:
        print_json(
            {
                "thread": documents.thread(info),
                "branch": number,
                "branches": [documents.branch(found) for found in branches],
                "first": first + 1,
                "messages": [documents.message(message) for message in messages[first:]],
            }
        )
        return
    console = stdout()
    _print_head(console, info, number, branches, messages)
    print_messages(console, messages[first:], first + 1)
    if not messages:
        remark(
            f"No messages: the state is shown by `threadkeep show {shown_id(thread)} --checkpoint newest`."
        )


def _branch(thread: Thread, branches: tuple[Branch, ...], wanted: int | None) -> int:
    """Return the number of the branch to show, the current one when none is named."""
    numbers = [found.branch for found in branches]
    if wanted is None:
        return next((found.branch for found in branches if found.current), 0)
    if wanted not in numbers:
        known = ", ".join(map(str, numbers))
        raise ConfigurationError(f"thread {thread.thread_id!r} has no branch {wanted}; it has {known}")
    return wanted


def _print_head(
    console: Console, info: ThreadInfo, branch: int, branches: tuple[Branch, ...], messages: list[BaseMessage]
) -> None:
    console.print(Text(shown_id(info.thread_id), style="bold cyan"), soft_wrap=True)
    if info.title and not (messages and documents.text_of(messages[0]).startswith(info.title.rstrip("…"))):
        console.print(Text(one_line(info.title), style="bold"), soft_wrap=True)
    others = ", ".join(str(found.branch) for found in branches if found.branch != branch)
    facts = [
        counted(len(messages), "message"),
        *([f"branch {branch} (others: {others})"] if others else []),
        counted(info.checkpoints, "checkpoint"),
        info.status,
        f"updated {moment(info.updated)[:16]}",
    ]
    console.print(Text(" · ".join(facts), style="dim"), soft_wrap=True)
    if info.metadata:
        console.print(Text(one_line(_json(info.metadata)), style="dim"), soft_wrap=True)
    console.print()


def _show_state(thread: Thread, state: State, as_json: bool) -> None:
    if as_json:
        print_json({"thread_id": thread.thread_id, "owner": thread.owner, **documents.state(state)})
        return
    console, at = stdout(), state.checkpoint
    console.print(
        Text(f"{shown_id(thread.thread_id)}  {one_line(at.checkpoint_id)}", style="bold cyan"), soft_wrap=True
    )
    place = f"step {at.step} · {at.source} · branch {at.branch} · {moment(at.created)}"
    console.print(Text(place, style="dim"), soft_wrap=True)
    for channel, value in state.values.items():
        if not is_plumbing(channel):
            _print_channel(console, channel, value)
    if state.pending:
        console.print(Text("\nwaiting to be applied by the next step", style="bold"))
        for write in state.pending:
            if not is_plumbing(write.channel):
                _print_channel(console, f"{write.channel} (task {write.task_id[:8]})", write.value)


def is_plumbing(channel: str) -> bool:
    """Tell whether a channel is LangGraph's own, which says what runs next; JSON has these too."""
    return channel.startswith(("__", "branch:to:"))


def _print_channel(console: Console, channel: str, value: Any) -> None:
    console.print()
    console.print(Text(one_line(channel), style="bold"))
    if isinstance(value, list) and value and all(isinstance(item, BaseMessage) for item in value):
        print_messages(console, value)
    else:
        print_indented(console, Text(block(_json(value, indent=2))))


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(documents.plain(value), ensure_ascii=False, indent=indent)
