"""`threadkeep history`: a thread's checkpoints."""

from __future__ import annotations

from typing import Annotated

import typer

from threadkeep.cli import documents, find, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import Column, print_json, print_table, remark
from threadkeep.cli.text import one_line, short_moment
from threadkeep.models import CheckpointInfo


@app.command()
def history(
    thread: options.ThreadArgument,
    namespace: Annotated[
        str, typer.Option(metavar="NAME", help="A subgraph's checkpoints; without it, the graph's own.")
    ] = "",
    limit: Annotated[int, typer.Option(metavar="N", parser=options.count, help="How many at most.")] = 50,
    all_: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    cursor: Annotated[
        str | None,
        typer.Option("--cursor", metavar="CURSOR", help="Go on where the JSON of a page before ended."),
    ] = None,
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """List a thread's checkpoints, newest first."""
    with opened(db, owner) as memory:
        handle = memory.threads.get(thread)
        if all_:
            found, cursor = list(find.checkpoints(handle, namespace=namespace, cursor=cursor)), None
        else:
            page = handle.history(namespace=namespace, limit=limit, cursor=cursor)
            found, cursor = list(page), page.cursor
    if as_json:
        print_json(
            {
                "thread_id": handle.thread_id,
                "owner": owner,
                "checkpoints": [documents.checkpoint(info) for info in found],
                "cursor": cursor,
            }
        )
        return
    if found:
        _print(found)
    else:
        remark(f"No checkpoints in namespace {namespace!r}.")
    if cursor is not None:
        remark(f"These are the {len(found):,} latest; --all lists every one, --limit N more.")


def _print(found: list[CheckpointInfo]) -> None:
    branches = len({info.branch for info in found}) > 1
    columns = [Column("STEP", "number"), Column("SOURCE"), Column("MSGS", "number"), Column("MADE")]
    columns += [Column("BRANCH", "number")] if branches else []
    print_table(
        [*columns, Column("CHECKPOINT", "id")],
        [
            (
                str(info.step),
                one_line(info.source),
                f"{info.messages:,}",
                short_moment(info.created),
                *((str(info.branch),) if branches else ()),
                one_line(info.checkpoint_id),
            )
            for info in found
        ],
    )
