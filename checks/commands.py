"""The command reference in docs/cli.md, written from the commands themselves: `make docs`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path("docs/cli.md")
BEGIN = "<!-- commands: written by make docs -->"
END = "<!-- end of commands -->"


def names(root: Path) -> set[str]:
    """Return the names of all commands; empty while there is no CLI."""
    group = _group(root)
    return set(group.commands) if group is not None else set()


def check_reference(root: Path, pages: dict[Path, str]) -> list[str]:
    """Say whether the reference in docs/cli.md differs from what the commands say of themselves."""
    group = _group(root)
    if group is None or PAGE not in pages:
        return []
    text = pages[PAGE]
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        return [f"{PAGE}: the reference stands between {BEGIN!r} and {END!r}, once"]
    return (
        []
        if insert(text, reference(group)) == text
        else [f"{PAGE}: the command reference is stale; run make docs"]
    )


def insert(text: str, written: str) -> str:
    """Return the page with what stands between the two marks replaced."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{written}\n{END}{after}"


def reference(group: Any) -> str:
    """Return Markdown for every command of a Typer group: its help, arguments, options and defaults."""
    return "\n".join(line for name in sorted(group.commands) for line in _section(name, group.commands[name]))


def _section(name: str, command: Any) -> Iterator[str]:
    shown = [
        param for param in command.params if param.name != "help" and not getattr(param, "hidden", False)
    ]
    arguments = [param for param in shown if param.param_type_name == "argument"]
    options = [param for param in shown if param.param_type_name == "option"]
    usage = " ".join(
        ["threadkeep", name, *(_argument(param) for param in arguments), *(["[OPTIONS]"] if options else [])]
    )
    yield from (f"### `{usage}`", "", _one_paragraph(command.help), "")
    for param in [*arguments, *options]:
        label = _argument(param) if param in arguments else _option(param)
        yield f"- `{label}`: {_one_paragraph(getattr(param, 'help', None))}{_default(param)}"
    if shown:
        yield ""


def _argument(param: Any) -> str:
    label = str(param.metavar or param.name.upper()) + ("..." if param.nargs == -1 else "")
    return label if param.required else f"[{label}]"


def _option(param: Any) -> str:
    flags = ", ".join([*param.opts, *param.secondary_opts])
    return flags if param.is_flag else f"{flags} {param.metavar or param.name.upper()}"


def _default(param: Any) -> str:
    plain = (
        isinstance(param.default, str | int | float)
        and not isinstance(param.default, bool)
        and param.default != ""
    )
    return f" Default: `{param.default}`." if plain else ""


def _one_paragraph(text: str | None) -> str:
    return " ".join((text or "").split())


def _group(root: Path) -> Any:
    """Return the CLI's command group, or None while the CLI is not there."""
    source = root / "src" / "threadkeep" / "cli"
    if not source.is_dir() and not source.with_suffix(".py").exists():
        return None
    app = importlib.import_module("threadkeep.cli").app
    return importlib.import_module("typer.main").get_command(app)


def main() -> int:
    """Write the reference into docs/cli.md."""
    root = Path.cwd()
    group = _group(root)
    if group is None:
        print("there is no CLI yet", file=sys.stderr)
        return 2
    page = root / PAGE
    page.write_text(insert(page.read_text("utf-8"), reference(group)), "utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
