"""The command group: what every command shares, and how errors leave it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from threadkeep.cli.text import one_line
from threadkeep.errors import ThreadkeepError

USER_ERROR = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit statuses; the last two are those a shell reports for SIGINT and SIGPIPE."""

# Typer carries a copy of click under a private name, or depends on click: its classes are found from here.
_UsageError: Any = typer.BadParameter.__bases__[0]


class _Group(TyperGroup):
    """Runs commands; a user's mistake becomes one line on stderr and exit status 2."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line; leaves by SystemExit, except in click's non-standalone mode."""

        def run() -> Any:
            return super(_Group, self).main(
                args,
                prog_name,
                complete_var,
                standalone_mode=False,
                windows_expand_args=windows_expand_args,
                **extra,
            )

        return sys.exit(_status(run)) if standalone_mode else run()

    def invoke(self, ctx: Any) -> Any:
        """Run the command; quietly end when nobody reads its output any more."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
            return result
        except BrokenPipeError:
            _silence_stdout()
            raise typer.Exit(BROKEN_PIPE) from None


def _status(run: Callable[[], Any]) -> int:
    """Return the exit status of a run, having said what went wrong."""
    try:
        result = run()
        return result if isinstance(result, int) else 0
    except ThreadkeepError as error:
        print_error(str(error))
        return USER_ERROR
    except _UsageError as error:
        print_error(_usage(error))
        return USER_ERROR
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write("\n")
        return INTERRUPTED


def print_error(message: str) -> None:
    """Say what went wrong in one line on stderr."""
    sys.stdout.flush()
    sys.stderr.write(f"Error: {one_line(message)}\n")


def _usage(error: Any) -> str:
    command = error.ctx.command_path if error.ctx is not None else "threadkeep"
    return f"{error.format_message().rstrip('.')}; `{command} --help` says what is possible"


def _silence_stdout() -> None:
    """Let the interpreter's last flush go nowhere: the reader of the pipe has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"threadkeep {version('threadkeep')}")
        raise typer.Exit


app = typer.Typer(
    name="threadkeep",
    cls=_Group,
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold conversations that survive restarts, look at them, and look after their database.

    Commands work on the database that --db names, or the environment variable THREADKEEP_DB, or on
    threadkeep.db in the current folder.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # An id or a message may hold what the terminal's encoding has no sign for.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="threadkeep")
