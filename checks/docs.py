"""What is public is documented, and what the documents name exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from checks import commands
from checks.files import project_files

PACKAGE = Path("src/threadkeep")
# The packages whose `__all__` is the public surface.
SURFACES = (PACKAGE, PACKAGE / "context")
# Classes whose methods are the public surface, besides the names in `__all__`.
HANDLES = ("memory", "thread", "threads")

_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_MAKE = re.compile(r"\bmake ([a-z][a-z-]*)")
_COMMAND = re.compile(r"(?:^|`|\$ |/)threadkeep ([a-z][a-z-]*)", re.MULTILINE)
_TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)


def check_docs(root: Path) -> list[str]:
    """Say which public names no document mentions, and which documents name what is not there."""
    pages = {path: (root / path).read_text("utf-8") for path in project_files(root) if path.suffix == ".md"}
    manual = "\n".join(
        text for path, text in pages.items() if path.parts[0] == "docs" and "design" not in path.parts
    )
    return [
        *_unmentioned(root, manual),
        *_stale(root, pages),
        *_broken_links(root, pages),
        *commands.check_reference(root, pages),
    ]


def public_names(root: Path, package: Path = PACKAGE) -> list[str]:
    """Return a package's `__all__` without importing anything; empty when it has no `__init__.py`."""
    path = root / package / "__init__.py"
    tree = ast.parse(path.read_text("utf-8")) if path.exists() else ast.Module([], [])
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            assert isinstance(node, ast.Assign)
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def _unmentioned(root: Path, manual: str) -> Iterator[str]:
    names: list[str] = []
    for package in SURFACES:
        found = public_names(root, package)
        names += found
        if found != sorted(found, key=lambda name: (not name.isupper(), name)):
            yield f"{package}/__init__.py: __all__ is not sorted"
        if not found and (root / package / "__init__.py").exists():
            yield f"{package}/__init__.py: has no literal __all__"
    for name in names:
        if not re.search(rf"\b{re.escape(name)}\b", manual):
            yield f"docs: the public name {name} is nowhere explained"
    for name in _classes(root / PACKAGE / "errors.py"):
        if name not in names and not re.search(rf"\b{name}\b", manual):
            yield f"docs: the exception {name} is nowhere explained"
    for kind, method in _methods(root, set(names)):
        if not re.search(rf"(?:\.{method}\b|\b{method}\()", manual):
            yield f"docs: {kind}.{method} is nowhere explained"


def _classes(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def _methods(root: Path, public: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the public methods of the handles; an a-twin is explained with its sync half."""
    for path in (root / PACKAGE / f"{name}.py" for name in HANDLES):
        for node in ast.parse(path.read_text("utf-8")).body if path.exists() else ():
            if not isinstance(node, ast.ClassDef) or node.name not in public:
                continue
            names = [n.name for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            for name in dict.fromkeys(names):
                if not name.startswith("_") and not (name[0] == "a" and name[1:] in names):
                    yield node.name, name


def _stale(root: Path, pages: dict[Path, str]) -> Iterator[str]:
    targets = set(_TARGET.findall((root / "Makefile").read_text("utf-8")))
    known = commands.names(root)
    for path, text in pages.items():
        code = "\n".join([*_FENCE.findall(text), *_CODE.findall(_FENCE.sub("", text))])
        for target in sorted(set(_MAKE.findall(code)) - targets):
            yield f"{path}: the Makefile has no target {target!r}"
        for command in sorted(set(_COMMAND.findall(code)) - known) if known else ():
            yield f"{path}: there is no command `threadkeep {command}`"


def _broken_links(root: Path, pages: dict[Path, str]) -> Iterator[str]:
    for path, text in pages.items():
        for target in _LINK.findall(_FENCE.sub("", text)):
            if (
                "://" not in target
                and not target.startswith("mailto:")
                and not (root / path.parent / target).exists()
            ):
                yield f"{path}: links to {target}, which is not there"
