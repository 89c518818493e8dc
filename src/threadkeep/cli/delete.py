"""`threadkeep delete`: remove threads, leaving no row of them."""

from __future__ import annotations

from typing import Annotated

import typer

from threadkeep.cli import options
from threadkeep.cli.app import app
from threadkeep.cli.opening import confirm, opened
from threadkeep.cli.output import print_json, progress, stdout
from threadkeep.cli.text import counted, shown_id, size

_NAMED = 3


@app.command()
def delete(
    threads: Annotated[list[str], typer.Argument(metavar="THREAD", help="The threads to delete.")],
    yes: options.Yes = False,
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Delete threads: no row of them stays. When one of them is not there, none is deleted."""
    wanted = list(dict.fromkeys(threads))
    with opened(db, owner) as memory:
        before = memory.size()
        sizes = [memory.threads.stats(thread).bytes for thread in wanted]
        confirm(f"delete {_named(wanted)} ({size(sum(sizes))})", yes=yes)
        deleted = []
        with progress("Deleting") as report:
            for n, thread in enumerate(wanted, 1):
                if memory.threads.delete(thread):
                    deleted.append(thread)
                report(n, len(wanted))
        after = memory.size()
    if as_json:
        print_json(
            {"deleted": deleted, "database": {"url": db, "bytes_before": before, "bytes_after": after}}
        )
    else:
        stdout().print(f"Deleted {_named(deleted)}.", soft_wrap=True)


def _named(threads: list[str]) -> str:
    if len(threads) <= _NAMED:
        return f"{'thread' if len(threads) == 1 else 'threads'} {', '.join(map(shown_id, threads))}"
    return counted(len(threads), "thread")
