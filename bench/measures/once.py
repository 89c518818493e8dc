"""Content is stored once: a large image, and a list that a node gives back unchanged."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from bench import lanes
from bench.results import Cells, Goal, Row, Section, skipped
from bench.run import Run
from bench.scenario import repeating_graph

IMAGE_BYTES = 2**20
IMAGE_GOAL = Goal(limit=1.1)
BODIES_GOAL = Goal(limit=0)
Open = Callable[[Path, lanes.Plan], lanes.Lane]


def _image() -> str:
    return base64.b64encode(random.Random("image").randbytes(IMAGE_BYTES)).decode()


def _show(lane: lanes.Lane, image: str | None) -> None:
    """Play the first turn with an image in its question."""
    question = None
    if image is not None:
        text = {"type": "text", "text": "What is the number on this label?"}
        question = HumanMessage([text, {"type": "image", "base64": image, "mime_type": "image/png"}])
    lane.ready(question)
    lane.play()


def _size(run: Run, open_lane: Open, turns: int, image: str | None) -> int:
    path = run.path("once")
    lane = open_lane(path, lanes.Plan(seed="once"))
    _show(lane, image)
    lane.live(turns)
    lane.close()
    return lanes.disk_bytes(path)


def _image_row(run: Run, name: str, open_lane: Open, turns: int, image: str) -> Row:
    run.say(f"once: a 1 MB image, {turns} turns, {name}")
    added = _size(run, open_lane, turns, image) - _size(run, open_lane, turns, None)
    cells: Cells = {
        "saver": name,
        "turns": turns,
        "disk MB added": added / 2**20,
        "copies": added / len(image),
    }
    return Row(cells=cells, judged=added / len(image), goal=IMAGE_GOAL if name == lanes.THREADKEEP else None)


def _images(run: Run) -> Section:
    image = _image()
    rows = []
    if run.has_threadkeep:
        rows += [_image_row(run, lanes.THREADKEEP, lanes.threadkeep, turns, image) for turns in (1, 20)]
    rows += [_image_row(run, lanes.SQLITE, lanes.sqlite, turns, image) for turns in (1, 5)]
    rows += [_image_row(run, lanes.SQLITE_DELTA, lanes.sqlite_delta, turns, image) for turns in (1, 5)]
    return Section(
        name="image", title="A one megabyte image in the first message", rows=tuple(rows), notes=IMAGE_NOTES
    )


def _bodies(run: Run, repeat: bool, turns: int) -> tuple[int, int]:
    """Return the rows of contents and the bytes on disk after `turns` invocations."""
    import threadkeep

    path = run.path("repeat")
    memory = threadkeep.open(f"sqlite:///{path}")
    graph = repeating_graph(memory.checkpointer, repeat=repeat)
    config: Any = {"configurable": {"thread_id": "repeat"}}
    texts = lanes.Plan(seed="repeat")
    lane = lanes.floor(texts)
    for number in range(turns):
        graph.invoke({"messages": [lane.script.select(number)]}, config, durability="sync")
    rows: int = memory.threads.stats("repeat").tables["contents"].rows
    memory.close()
    return rows, lanes.disk_bytes(path)


def _repeats(run: Run) -> Section:
    title = "A node that returns the full list unchanged"
    if not run.has_threadkeep:
        return skipped("repeat", title, "Threadkeep is not installed")
    turns = 30 if run.quick else 60
    run.say(f"once: a node that returns the list unchanged, {turns} turns")
    silent, repeated = _bodies(run, False, turns), _bodies(run, True, turns)
    rows = (
        Row(
            cells={
                "node returns": "nothing",
                "turns": turns,
                "bodies": silent[0],
                "disk KB": silent[1] / 1024,
            }
        ),
        Row(
            cells={
                "node returns": "the list unchanged",
                "turns": turns,
                "bodies": repeated[0],
                "disk KB": repeated[1] / 1024,
                "bodies added": repeated[0] - silent[0],
            },
            judged=repeated[0] - silent[0],
            goal=BODIES_GOAL,
        ),
    )
    return Section(name="repeat", title=title, rows=rows)


def measure(run: Run) -> list[Section]:
    """Measure both."""
    return [_images(run), _repeats(run)]


IMAGE_NOTES = (
    "Copies: disk added by the image over the length of its base64 text (1.33 MB of random bytes).",
)
