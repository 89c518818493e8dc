"""`threadkeep schema`: the tables, for people whose role may not make them."""

from __future__ import annotations

from typing import Annotated

import typer

from threadkeep import config
from threadkeep.cli import options
from threadkeep.cli.app import app
from threadkeep.cli.output import print_json


@app.command()
def schema(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", envvar="THREADKEEP_DB", help="Of what kind of database; it is not opened."
        ),
    ] = options.DB,
    as_json: options.Json = False,
) -> None:
    """Print the SQL that makes the tables of a new database."""
    sql = config.schema(url)
    if as_json:
        print_json({"url": url, "sql": sql})
    else:
        typer.echo(sql, nl=False)
