"""Every Python example in the README and the manual runs, in order, page by page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# An example that needs a server or a paid model says so in the line before it.
_BLOCK = re.compile(
    r"(?P<mark><!-- not run: [^>]+ -->\n)?^```python\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    text = page.read_text("utf-8")
    for block in _BLOCK.finditer(text):
        if not block["mark"]:
            line = text.count("\n", 0, block.start("code"))
            exec(compile("\n" * line + block["code"], str(page), "exec", dont_inherit=True), names)
