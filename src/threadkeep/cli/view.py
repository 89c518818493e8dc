"""`threadkeep view`: what the model saw in one call, and why."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from threadkeep.cli import documents, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import print_json, remark, stdout
from threadkeep.cli.text import counted, moment, one_line, shown_id
from threadkeep.cli.transcript import print_messages
from threadkeep.models import Call, CallRecord, MessageReason

_WORDS = 60
"""Characters of a message that stand beside the reason why it was not sent as it is."""


@app.command()
def view(
    thread: options.ThreadArgument,
    call: Annotated[
        int,
        typer.Argument(
            metavar="CALL",
            parser=options.whole,
            help="The call's number, as `threadkeep usage --calls` lists it.",
        ),
    ],
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Show what the model saw in one call, and why.

    Each message of the state that was not sent as it is has its reason.
    """
    with opened(db, owner) as memory:
        handle = memory.threads.get(thread)
        found = handle.call(call)
    if as_json:
        print_json({"thread_id": handle.thread_id, "owner": owner, **documents.call_record(found)})
        return
    console = stdout()
    _print_head(console, handle.thread_id, found)
    if found.messages is None:
        remark(
            "What was sent is not known: this call was counted by its answer. ContextMiddleware records it."
        )
        return
    console.print()
    print_messages(console, found.messages)
    _print_tools(console, found)
    _print_reasons(console, found)


def _print_head(console: Console, thread_id: str, found: CallRecord) -> None:
    call = found.call
    console.print(Text(f"{shown_id(thread_id)}  call {call.number}", style="bold cyan"), soft_wrap=True)
    facts = [
        one_line(call.model or "unknown model"),
        call.purpose if call.status == "finished" else f"{call.purpose}, {call.status}",
        *([one_line(call.error)] if call.error else []),
        _tokens(call),
        *([f"${call.price:f}"] if call.price is not None else []),
        *([] if found.messages is None else [counted(len(found.messages), "message")]),
        *([one_line(found.policy)] if found.policy else []),
        moment(call.at),
    ]
    console.print(Text(" · ".join(facts), style="dim"), soft_wrap=True)


def _tokens(call: Call) -> str:
    if call.input_tokens is None and call.output_tokens is None:
        return "tokens unknown"
    counts = ["?" if count is None else f"{count:,}" for count in (call.input_tokens, call.output_tokens)]
    return f"{counts[0]} tokens in, {counts[1]} out"


def _print_tools(console: Console, found: CallRecord) -> None:
    if found.tools:
        names = ", ".join(one_line(_tool_name(tool)) for tool in found.tools)
        console.print(Text(f"\ntools: {names}", style="dim"), soft_wrap=True)
    for name in found.options:
        console.print(Text(f"{one_line(name)}: given; --json shows it", style="dim"), soft_wrap=True)


def _tool_name(tool: object) -> str:
    """Return a tool's name; providers have it in different places."""
    if not isinstance(tool, dict):
        return str(tool)
    inner = tool.get("function")
    fields = inner if isinstance(inner, dict) else tool
    return str(fields.get("name") or fields.get("type") or "unnamed")


def _print_reasons(console: Console, found: CallRecord) -> None:
    if not found.reasons:
        return
    others = [reason for reason in found.reasons if reason.text != "kept"]
    kept = len(found.reasons) - len(others)
    console.print(
        Text(
            f"\nof the state's {counted(len(found.reasons), 'message')}, {kept:,} were sent as they are",
            style="bold",
        ),
        soft_wrap=True,
    )
    for reason in others:
        console.print(_line(reason), soft_wrap=True)


def _line(reason: MessageReason) -> Text:
    words = one_line(documents.text_of(reason.message))
    words = words if len(words) <= _WORDS else words[: _WORDS - 1] + "…"
    line = Text.assemble((f"{reason.position:>4} ", "dim"), one_line(reason.message.type))
    line.append(f"  {one_line(reason.text) or 'no reason was recorded'}", style="yellow")
    if words:
        line.append(f"  {words}", style="dim")
    return line
