"""`threadkeep copy`: a thread once more under another id."""

from __future__ import annotations

from typing import Annotated

import typer

from threadkeep.cli import documents, options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import print_json, stdout
from threadkeep.cli.text import counted, shown_id


@app.command()
def copy(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The thread to copy.")],
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="The id of the copy; no thread may have it.")
    ],
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Copy a thread whole: checkpoints, transcript and usage."""
    with opened(db, owner) as memory:
        info = memory.threads.copy(source, target).info()
    if as_json:
        print_json({"source": source, "thread": documents.thread(info)})
        return
    held = f"{counted(info.messages, 'message')}, {counted(info.checkpoints, 'checkpoint')}"
    stdout().print(f"Copied {shown_id(source)} to {shown_id(target)}: {held}.", soft_wrap=True)
