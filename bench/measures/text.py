"""Whether the benchmark's text compresses better than English, which would flatter savers that compress."""

from __future__ import annotations

from bench.results import Cells, Goal, Row, Section
from bench.run import Run
from bench.scenario import turn, turn_text
from bench.text import Compression, calibration

_TURNS = 200


def _row(found: Compression, real: Compression | None) -> Row:
    cells: Cells = {
        "text": found.name,
        "pieces of": f"{found.size:,} bytes",
        "zlib -6": found.zlib6,
        "zstd -3": found.zstd3,
    }
    if found.name.startswith("real"):
        return Row(cells=cells)
    limit = real.zstd3 if real else 0.38
    return Row(cells=cells, judged=found.zstd3, goal=Goal(limit=round(limit, 3), at_least=True))


def measure(run: Run) -> list[Section]:
    """Compress 200 turns of the benchmark's text beside a page of real prose."""
    said = [turn("calibration", number) for number in range(_TURNS)]
    text = " ".join(" ".join((each.human, each.args["query"], each.result, each.answer)) for each in said)
    found = calibration(text)
    words = len(set(text.split()))
    real = (None, found[0], None, found[2], None)
    rows = tuple(_row(each, beside) for each, beside in zip(found, real, strict=True))
    size = turn_text("calibration", _TURNS) / _TURNS
    notes = (
        f"{size:.0f} bytes of text a turn, {words:,} distinct words in {_TURNS} turns.",
        "Compressed size over size; the judged text must not go below real English. Books in English stand at"
        " 0.38 to 0.42 in large pieces.",
    )
    return [Section(name="text", title="Text: as hard to compress as English", rows=rows, notes=notes)]
