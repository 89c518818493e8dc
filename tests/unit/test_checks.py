"""Each of the project's own checks finds what it is there to find."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import typer

from checks import commands
from checks.docs import check_docs
from checks.files import project_files
from checks.imports import LAYERS, check_imports
from checks.pieces import PIECES, missing_pieces
from checks.portable import check_portable
from checks.sizes import LIMIT, check_sizes

ROOT = Path(__file__).parents[2]


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


@pytest.mark.parametrize(
    ("module", "line", "found"),
    [
        ("serde", "from threadkeep.engine import Engine", "serde imports engine"),
        ("serde", "import threadkeep.engine.head", "serde imports engine"),
        ("serde", "from threadkeep import memory", "serde imports memory"),
        ("serde", "import threadkeep", "serde imports __init__"),
        ("ops/put", "from ..backends.sqlite import driver", "ops imports backends"),
        ("ops/put", "from ..backends import sqlite", "ops imports backends"),
        ("ops/put", "import asyncio", "imports asyncio"),
        ("engine/head", "from langgraph.checkpoint.base import Checkpoint", "imports langgraph"),
        ("engine/head", "def late():\n    from langgraph.types import Send", "imports langgraph"),
        ("memory", "from threadkeep.adapters.langgraph import Saver", "memory imports adapters"),
        ("engine/head", "def late():\n    import threadkeep.adapters", "engine imports adapters"),
        ("models", "if True:\n    import sqlite3", "imports sqlite3"),
        ("surprise", "", "has no layer"),
    ],
)
def test_an_import_the_wrong_way_is_found(tmp_path: Path, module: str, line: str, found: str) -> None:
    write(tmp_path, {f"src/threadkeep/{module}.py": line})
    (problem,) = check_imports(tmp_path)
    assert found in problem


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("serde", "from threadkeep.errors import SerializationError"),
        ("ops/put", "from threadkeep.backends.base import Statement"),
        ("ops/put", "from ..backends import base"),
        ("engine/__init__", "from .head import Head"),
        ("engine/head", "from langchain_core.messages import BaseMessage"),
        ("memory", "def late():\n    from threadkeep.adapters.langgraph import Saver"),
        ("memory", "if TYPE_CHECKING:\n    from threadkeep.adapters.langgraph import Saver"),
        ("adapters/langgraph", "from langgraph.types import Send"),
        ("__init__", "from .memory import Memory"),
        ("cli/chat", "import threadkeep\nfrom threadkeep.adapters import local\nimport typer"),
    ],
)
def test_an_import_the_right_way_is_not(tmp_path: Path, module: str, line: str) -> None:
    assert check_imports(write(tmp_path, {f"src/threadkeep/{module}.py": line})) == []


def test_no_module_has_two_layers() -> None:
    names = [name for layer in LAYERS for name in layer]
    assert len(names) == len(set(names))


def test_a_file_that_is_too_long_is_found(tmp_path: Path) -> None:
    write(
        tmp_path, {"long.py": "x = 1\n" * (LIMIT + 1), "short.py": "x = 1\n" * LIMIT, "data.csv": "\n" * 9999}
    )
    (problem,) = check_sizes(tmp_path)
    assert problem.startswith(f"long.py: {LIMIT + 1} lines")


@pytest.mark.parametrize(
    "line",
    [
        "see " + "pypi" + ".org/simple",
        "cd " + "/wo" + "rk/main",
        "~ is " + "/ro" + "ot/x",
        "db = " + str(Path.home()) + "/a.db",
    ],
)
def test_a_host_or_a_path_of_one_machine_is_found(tmp_path: Path, line: str) -> None:
    write(tmp_path, {"README.md": f"first\n{line}\n", "uv.lock": line})
    assert {problem.rpartition(":")[0] for problem in check_portable(tmp_path)} == {"README.md:2"}


def test_ordinary_paths_are_portable(tmp_path: Path) -> None:
    text = "sqlite:////var/lib/app/threads.db docs/work/plan.md https://example.org/root/x /tmp/a"
    assert check_portable(write(tmp_path, {"README.md": text})) == []


def test_missing_pieces_are_named(tmp_path: Path) -> None:
    assert len(missing_pieces(tmp_path)) == len(PIECES)
    write(
        tmp_path,
        {"src/threadkeep/memory.py": "", "src/threadkeep/cli/chat.py": "", "examples/README.txt": ""},
    )
    missing = missing_pieces(tmp_path)
    assert len(missing) == len(PIECES) - 2
    assert "examples is missing" in missing


MEMORY = """
class Memory:
    def stats(self): ...
    async def astats(self): ...
    def _own(self): ...
"""
DOCUMENTED = {
    "Makefile": "chat: install\n\t@true\n",
    "src/threadkeep/__init__.py": '__all__ = ["Memory", "open"]\n',
    "src/threadkeep/errors.py": "class Broken(Exception): ...\nclass _Own(Exception): ...\n",
    "src/threadkeep/memory.py": MEMORY,
    "docs/index.md": "`open` gives a `Memory`; `memory.stats()`; `Broken`. [back](../README.md)",
    "README.md": "Say `make chat`. Please make noise.",
}


def test_documents_that_say_it_all_pass(tmp_path: Path) -> None:
    assert check_docs(write(tmp_path, DOCUMENTED)) == []


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"docs/index.md": "`open`, `memory.stats()`, `Broken`"}, "the public name Memory"),
        ({"docs/index.md": "`open`, `Memory`, `Broken`, statistics"}, "Memory.stats"),
        ({"docs/index.md": "`open`, `Memory.stats`"}, "the exception Broken"),
        ({"src/threadkeep/__init__.py": '__all__ = ["open", "Memory"]'}, "__all__ is not sorted"),
        ({"src/threadkeep/__init__.py": "x = 1"}, "has no literal __all__"),
        ({"README.md": "```sh\nmake coffee\n```"}, "no target 'coffee'"),
        ({"README.md": "[gone](docs/gone.md)"}, "links to docs/gone.md"),
    ],
)
def test_what_a_document_lacks_is_found(tmp_path: Path, change: dict[str, str], found: str) -> None:
    (problem,) = check_docs(write(tmp_path, {**DOCUMENTED, **change}))
    assert found in problem


def group() -> object:
    app = typer.Typer()

    @app.command()
    def show(
        thread: Annotated[str, typer.Argument(help="The thread's name.")],
        limit: Annotated[int, typer.Option(help="At most so many.")] = 20,
        json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
    ) -> None:
        """Show a thread."""

    @app.command("prune")
    def prune_() -> None:
        """Give space
        back."""

    return typer.main.get_command(app)


def test_the_command_reference_says_everything() -> None:
    assert commands.reference(group()).splitlines() == [
        "### `threadkeep prune`",
        "",
        "Give space back.",
        "",
        "### `threadkeep show THREAD [OPTIONS]`",
        "",
        "Show a thread.",
        "",
        "- `THREAD`: The thread's name.",
        "- `--limit LIMIT`: At most so many. Default: `20`.",
        "- `--json`: For machines.",
    ]


def test_a_stale_command_reference_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_group", lambda root: group())
    empty = f"# Commands\n\n{commands.BEGIN}\n{commands.END}\n\nThe end.\n"
    full = commands.insert(empty, commands.reference(group()))
    assert full.startswith("# Commands\n\n") and full.endswith("\n\nThe end.\n")
    assert commands.check_reference(tmp_path, {commands.PAGE: full}) == []
    assert "stale" in commands.check_reference(tmp_path, {commands.PAGE: empty})[0]
    assert "once" in commands.check_reference(tmp_path, {commands.PAGE: "# Commands"})[0]


def test_files_are_found_with_and_without_git(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.py": "",
            ".venv/b.py": "",
            "c/__pycache__/d.py": "",
            ".ci/run": "",
            ".gitignore": ".venv\n__pycache__\n",
        },
    )
    assert project_files(tmp_path) == [Path(".ci/run"), Path(".gitignore"), Path("a.py")]
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert project_files(tmp_path) == [Path(".ci/run"), Path(".gitignore"), Path("a.py")]


@pytest.mark.parametrize(("ci", "status"), [("", 0), ("true", 1)])
def test_missing_pieces_fail_in_ci_only(tmp_path: Path, ci: str, status: int) -> None:
    write(tmp_path, {**DOCUMENTED, "docs/index.md": DOCUMENTED["docs/index.md"]})
    done = subprocess.run(
        [sys.executable, "-m", "checks"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "CI": ci},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, "")
    assert "bench/__main__.py is missing" in done.stdout
