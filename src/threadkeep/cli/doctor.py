"""`threadkeep doctor`: check every invariant of a database."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from threadkeep.cli import documents, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import print_json, progress, stdout
from threadkeep.cli.text import counted, one_line, shown_id
from threadkeep.models import Problem

PROBLEMS = 1
"""Exit status when something is wrong."""

_SHOWN = 50


@app.command()
def doctor(
    thread: Annotated[
        str | None, typer.Argument(metavar="THREAD", help="Check only this thread.", show_default=False)
    ] = None,
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Check that everything stored is whole. Exits with 1 when something is wrong, and says what to do.

    Nothing is changed or repaired.
    """
    checked = 0
    with opened(db, owner) as memory, progress("Checking") as report:

        def count(done: int, total: int) -> None:
            nonlocal checked
            checked = done
            report(done, total)

        problems = memory.doctor(thread, progress=count)
    if as_json:
        found = [documents.problem(problem, remedy(problem, db)) for problem in problems]
        print_json({"url": db, "threads": checked, "ok": not problems, "problems": found})
    else:
        _print(problems, checked, db)
    if problems:
        raise typer.Exit(PROBLEMS)
