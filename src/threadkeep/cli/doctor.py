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
_KEYED_BY_THREAD = ("writes", "namespaces", "labels", "sent", "notes", "pins")


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


def remedy(problem: Problem, db: str) -> str:
    """Return what a person can do about a broken invariant."""
    if not problem.table:
        return "stop writing to it and restore a backup; `sqlite3 FILE .recover` saves what can still be read"
    if not problem.thread_id:
        key = "thread" if problem.table in _KEYED_BY_THREAD else "key >> 32"
        number = problem.fields.get("thread", "N")
        return f"nothing reads these rows; DELETE FROM {problem.table} WHERE {key} = {number}; removes them"
    shown = shown_id(problem.thread_id)
    return (
        f"restore a backup, or save what can be read, `threadkeep show {shown} --db {db} --json`, and then "
        f"`threadkeep delete {shown} --db {db}`"
    )


def _print(problems: tuple[Problem, ...], checked: int, db: str) -> None:
    console = stdout()
    if not problems:
        console.print(f"Nothing is wrong in {counted(checked, 'thread')} of {one_line(db)}.", soft_wrap=True)
        return
    console.print(
        Text(
            f"{counted(len(problems), 'problem')} in {counted(checked, 'thread')} of {one_line(db)}",
            style="bold red",
        ),
        soft_wrap=True,
    )
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.thread_id, remedy(problem, db)), []).append(problem)
    for (thread, advice), found in groups.items():
        console.print()
        console.print(Text(shown_id(thread) if thread else "the database", style="bold cyan"), soft_wrap=True)
        for problem in found[:_SHOWN]:
            where = f"{problem.table}: " if problem.table else ""
            console.print(f"  {where}{one_line(problem.detail)}", soft_wrap=True)
        if len(found) > _SHOWN:
            console.print(f"  and {len(found) - _SHOWN:,} more; --json has all of them")
        console.print(f"  What to do: {one_line(advice)}", soft_wrap=True)
