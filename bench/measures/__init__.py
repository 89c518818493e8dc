"""The measures, by the name that `--only` takes, in the order they run."""

from __future__ import annotations

from collections.abc import Callable

from bench.measures import cold, disk, inprocess, listing, once, reads, text, turns
from bench.results import Section
from bench.run import Run

MEASURES: dict[str, Callable[[Run], list[Section]]] = {
    "text": text.measure,
    "turns": turns.measure,
    "disk": disk.measure,
    "cold": cold.measure,
    "reads": reads.measure,
    "listing": listing.measure,
    "inprocess": inprocess.measure,
    "once": once.measure,
}
