"""`threadkeep prune`: remove old checkpoints, never what was said."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from threadkeep.cli import options
from threadkeep.cli.app import app
from threadkeep.cli.opening import confirm, opened
from threadkeep.cli.output import print_json, progress, stdout
from threadkeep.cli.text import counted, size
from threadkeep.memory import Memory
from threadkeep.models import PruneReport


class Strategy(StrEnum):
    """What a prune leaves of a thread."""

    keep_latest = "keep_latest"
    delete = "delete"


@app.command()
def prune(
    threads: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="THREAD", help="Which threads; without any, all of the owner's.", show_default=False
        ),
    ] = None,
    keep_last: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=options.count,
            help="Keep the newest N checkpoints; without it, the newest one.",
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            metavar="AGE", help="Remove only checkpoints older than this: 12h, 30d, 2w. The newest stays."
        ),
    ] = None,
    strategy: Annotated[
        Strategy,
        typer.Option(
            metavar="NAME",
            help="keep_latest removes checkpoints; delete removes the threads with all they hold.",
        ),
    ] = Strategy.keep_latest,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: options.Yes = False,
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Remove old checkpoints and what only they refer to. The transcript stays whole."""
    plan: dict[str, Any] = {
        "strategy": strategy.value,
        "keep_last": keep_last,
        "older_than": None if older_than is None else options.duration(older_than, "--older-than"),
    }
    with opened(db, owner) as memory:
        for thread in threads or ():
            memory.threads.stats(thread)
        report = _run(memory, threads, plan, dry_run=dry_run or not yes)
        if not dry_run and not yes and _removed(report):
            confirm(f"remove {_what(report)}", yes=False)
            report = _run(memory, threads, plan, dry_run=False)
        disk = memory.size()
    if as_json:
        print_json({**_document(report), "dry_run": dry_run, "database": {"url": db, "bytes": disk}})
    elif not _removed(report):
        stdout().print("Nothing to remove.")
    else:
        verb = "Would remove" if dry_run else "Removed"
        stdout().print(f"{verb} {_what(report)}.", soft_wrap=True)


def _run(memory: Memory, threads: list[str] | None, plan: dict[str, Any], *, dry_run: bool) -> PruneReport:
    with progress("Looking" if dry_run else "Pruning") as report:
        return memory.threads.prune(threads or None, **plan, dry_run=dry_run, progress=report)


def _removed(report: PruneReport) -> bool:
    return bool(report.threads)


def _what(report: PruneReport) -> str:
    parts = [
        counted(report.checkpoints, "checkpoint"),
        counted(report.contents, "stored value"),
        counted(report.writes, "pending write"),
    ]
    what = ", ".join(part for part in parts if not part.startswith("0 ")) or "nothing else"
    return f"{what} ({size(report.bytes)}) from {counted(report.threads, 'thread')}"


def _document(report: PruneReport) -> dict[str, int]:
    return {name: getattr(report, name) for name in ("threads", "checkpoints", "contents", "writes", "bytes")}
