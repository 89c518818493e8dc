"""`python -m bench`: measure Threadkeep beside the floor and LangGraph's savers."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path

from rich.console import Console

from bench import report
from bench.machine import describe
from bench.measures import MEASURES
from bench.results import Section, failed
from bench.run import Run


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="shorter threads and fewer rounds: about a minute"
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=MEASURES,
        metavar="NAME",
        help=f"one measure (may be repeated): {', '.join(MEASURES)}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the results as a page")
    parser.add_argument(
        "--scratch", type=Path, metavar="DIR", help="where databases are made (a real disk, not a RAM disk)"
    )
    return parser.parse_args(arguments)


def _command(options: argparse.Namespace) -> str:
    """Return the arguments that change what is measured, as typed."""
    return "".join([" --quick" if options.quick else "", *(f" --only {name}" for name in options.only or ())])


def _measure(run: Run, names: list[str], console: Console) -> list[Section]:
    sections: list[Section] = []
    for name in names:
        try:
            found = MEASURES[name](run)
        except Exception as error:
            traceback.print_exc()
            found = [failed(name, error)]
        sections += found
        for section in found:
            report.show(section, console)
    return sections


def main(arguments: list[str] | None = None) -> int:
    """Run the measures; the exit status is 1 when a goal was missed or a measure failed."""
    options = _options(arguments)
    console = Console(width=max(160, shutil.get_terminal_size().columns), highlight=False)
    with tempfile.TemporaryDirectory(prefix="threadkeep-bench-", dir=options.scratch) as scratch:
        run = Run(Path(scratch), quick=options.quick)
        machine = describe(run.scratch)
        console.print(" · ".join(f"{name} {value}" for name, value in machine.items()) + "\n")
        if not run.has_threadkeep:
            console.print(
                "Threadkeep is not installed here: only the floor and LangGraph's savers.", style="bold red"
            )
        sections = _measure(run, options.only or list(MEASURES), console)
        run.close()
    met, missed = report.summary(sections)
    console.print(f"[bold]{met} goals met, {missed} missed")
    if options.json:
        report.write_json(options.json, machine, sections)
    if options.markdown:
        report.write_markdown(options.markdown, machine, sections, _command(options))
    return 1 if missed else 0


if __name__ == "__main__":
    os.environ["LANGSMITH_TRACING"] = "false"
    sys.exit(main())
