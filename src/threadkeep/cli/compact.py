"""`threadkeep compact`: give the disk back what deletions freed."""

from __future__ import annotations

from threadkeep.cli import options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import print_json, remark, stdout
from threadkeep.cli.text import size


@app.command()
def compact(db: options.Database = options.DB, as_json: options.Json = False) -> None:
    """Rewrite the database without free pages. It takes as much free disk as the database for a while."""
    with opened(db) as memory:
        report = memory.compact()
    if as_json:
        print_json({"before": report.before, "after": report.after, "complete": report.complete})
        return
    stdout().print(f"{size(report.before)} before, {size(report.after)} now.")
    if not report.complete:
        remark("Another process was reading and keeps some of it; run this again when it has ended.")
