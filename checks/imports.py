"""Who may import whom.

`LAYERS` is read from left to right: a module imports its own layer and those before it. The most
specific name wins, so the contract between operations and drivers (`backends.base`) stands before both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "threadkeep"
ROOT_MODULE = "__init__"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "models", "ids", "hooks"),
    ("serde",),
    ("context",),
    ("backends.base",),
    ("ops",),
    ("backends", "config"),
    ("engine",),
    ("memory", "thread", "threads"),
    ("adapters",),
    (ROOT_MODULE,),
    ("testing", "service", "inspector"),
    ("cli",),
    ("__main__",),
)

# Arrows to the right that are taken only when called: `memory.checkpointer` and `thread.view` need LangGraph,
# `import threadkeep` does not.
WHEN_CALLED = {("memory", "adapters"), ("thread", "adapters"), ("context", "adapters")}

_ABOVE_STORAGE = ("engine", "memory", "thread", "threads", "context", "adapters", "testing", "service", "cli")

# Other people's modules, and the only places that may name them.
CONFINED: dict[str, tuple[str, ...]] = {
    "langgraph": ("adapters",),
    "langchain": ("adapters", "service", "cli"),
    "langchain_core": ("serde", *_ABOVE_STORAGE),
    "asyncio": ("backends", *_ABOVE_STORAGE, "inspector"),
    "sqlite3": ("backends", "testing"),
    "psycopg": ("backends",),
    "psycopg_pool": ("backends",),
    "pymysql": ("backends",),
    "redis": ("backends",),
    "genai_prices": ("context",),
    "matplotlib": ("cli",),
    "typer": ("cli",),
    "rich": ("cli",),
    "prompt_toolkit": ("cli",),
    "xllamacpp": ("adapters", "cli"),
    "fastapi": ("service",),
    "starlette": ("service", "inspector"),
    "sse_starlette": ("service",),
    "uvicorn": ("service", "cli"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Import:
    """One import statement's target; `deferred` when it runs in a function or for a type checker only."""

    target: str
    line: int
    deferred: bool


def check_imports(root: Path) -> list[str]:
    """Say which imports in src/threadkeep point the wrong way."""
    top = root / "src" / PACKAGE
    problems: list[str] = []
    for path in sorted(top.rglob("*.py")):
        module = _module_name(path.relative_to(top))
        where = path.relative_to(root)
        if layer_of(module) is None:
            problems.append(f"{where}: {module!r} has no layer; give it one in checks/imports.py")
            continue
        for found in imports_of(path, module):
            fault = _fault(module, found)
            if fault:
                problems.append(f"{where}:{found.line}: {fault}")
    return problems


def layer_of(module: str) -> tuple[int, str] | None:
    """Return the rank and the name of the layer a module (without the package's name) belongs to."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        for rank, names in enumerate(LAYERS):
            if name in names:
                return rank, name
    return None


def imports_of(path: Path, module: str) -> Iterator[Import]:
    """Yield what a file imports: our modules as `threadkeep.name`, others by their full name."""
    tree = ast.parse(path.read_text("utf-8"), str(path))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    if module == ROOT_MODULE:
        package = ""
    yield from _walk(tree, package, deferred=False)


def _walk(node: ast.AST, package: str, *, deferred: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(target=alias.name, line=child.lineno, deferred=deferred)
        elif isinstance(child, ast.ImportFrom):
            base = _absolute(child, package)
            for alias in child.names:
                yield Import(target=f"{base}.{alias.name}", line=child.lineno, deferred=deferred)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) or _only_for_types(child)
            yield from _walk(child, package, deferred=deferred or inside)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".") if package else []
    kept = parents[: len(parents) - (node.level - 1)]
    return ".".join([PACKAGE, *kept, *([node.module] if node.module else [])])


def _only_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _module_name(relative: Path) -> str:
    parts = list(relative.with_suffix("").parts)
    if len(parts) > 1 and parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def _fault(module: str, found: Import) -> str | None:
    source = layer_of(module)
    assert source is not None
    first, _, rest = found.target.partition(".")
    if first != PACKAGE:
        homes = CONFINED.get(first)
        if homes is None or _is_in(module, homes):
            return None
        return f"imports {first}, which only {', '.join(homes)} may"
    target = layer_of(rest) or layer_of(ROOT_MODULE)
    assert target is not None
    if target[0] <= source[0]:
        return None
    if found.deferred and (source[1], target[1]) in WHEN_CALLED:
        return None
    return f"{source[1]} imports {target[1]}, which stands to the right of it"


def _is_in(module: str, homes: tuple[str, ...]) -> bool:
    return any(module == home or module.startswith(home + ".") for home in homes)
