"""The benchmark measures what it says: its text, its turns, its floor, its clocks and its verdicts."""

from __future__ import annotations

import json
import queue
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from bench import __main__ as command
from bench import lanes, report
from bench.bytes import parts
from bench.measures import turns
from bench.profile import Profiler
from bench.results import Goal, Row, Section
from bench.scenario import Script, turn, turn_text
from bench.text import calibration
from bench.timing import EmptyCommit, Samples, Subject, interleave

PLAN = lanes.Plan(seed="test")


def test_text_is_no_easier_to_compress_than_english() -> None:
    text = " ".join(f"{said.human} {said.result} {said.answer}" for said in (turn("t", n) for n in range(60)))
    real_piece, piece, real_page, page, whole = calibration(text)
    assert (real_piece.name, real_page.name) == ("real English", "real English")
    assert piece.zstd3 >= real_piece.zstd3 and piece.zlib6 >= real_piece.zlib6
    assert page.zstd3 >= real_page.zstd3 and page.zlib6 >= real_page.zlib6
    assert whole.zlib6 >= 0.38


def test_a_turn_is_about_a_kilobyte_and_always_the_same() -> None:
    first = [turn("t", number) for number in range(40)]
    turn.cache_clear()
    assert first == [turn("t", number) for number in range(40)]
    assert len({said.answer for said in first}) == 40
    assert 900 <= turn_text("t", 40) / 40 <= 1100


def _bytes(message: Any) -> int:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return len(message.content.encode()) + sum(len(json.dumps(call["args"]).encode()) for call in calls)


def _in_memory(path: Path, plan: lanes.Plan) -> lanes.Lane:
    return lanes.in_memory(plan)


def _floor(path: Path, plan: lanes.Plan) -> lanes.Lane:
    return lanes.floor(plan)


SAVERS = {
    "floor": _floor,
    "threadkeep": lanes.threadkeep,
    "sqlite": lanes.sqlite,
    "delta": lanes.sqlite_delta,
    "memory": _in_memory,
}


@pytest.mark.parametrize("call", ["invoke", "ainvoke"])
@pytest.mark.parametrize("open_lane", SAVERS.values(), ids=SAVERS)
def test_every_saver_holds_what_was_said(
    open_lane: Callable[[Path, lanes.Plan], lanes.Lane], call: str, tmp_path: Path
) -> None:
    loop = lanes.Loop() if call == "ainvoke" else None
    lane = open_lane(tmp_path / "lane.db", lanes.Plan(seed="test", loop=loop))
    lane.prefill(3, step=2)
    lane.live(5)
    state = loop.run(lane.graph.aget_state(lane.config)) if loop else lane.graph.get_state(lane.config)
    messages = state.values["messages"]
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"] * 5
    assert [messages[4 * n + 3].content for n in range(5)] == [turn("test", n).answer for n in range(5)]
    assert sum(map(_bytes, messages)) == turn_text("test", 5)
    lane.close()
    if loop:
        loop.close()


def test_prefilled_messages_are_those_that_a_run_leaves() -> None:
    lane = lanes.floor(PLAN)
    lane.live(1)
    played = lane.graph.get_state(lane.config).values["messages"]
    written = Script("test").messages(0)
    left = [message.model_dump(exclude={"id", "usage_metadata", "response_metadata"}) for message in played]
    assert left == [
        message.model_dump(exclude={"id", "usage_metadata", "response_metadata"}) for message in written
    ]
    assert [set(message.response_metadata) for message in played] == [
        set(message.response_metadata) for message in written
    ]
    assert all(message.id for message in (*played, *written))


def test_the_floor_keeps_the_objects_it_was_given() -> None:
    lane = lanes.floor(PLAN)
    lane.live(2)
    saver = lane.graph.checkpointer
    first, second = saver.get_tuple(lane.config), saver.get_tuple(lane.config)
    assert first.checkpoint["channel_values"]["messages"] is second.checkpoint["channel_values"]["messages"]
    assert len(saver._newest) == 1


def test_subjects_take_turns_and_warming_up_does_not_count(tmp_path: Path) -> None:
    order: list[str] = []
    commit = EmptyCommit(tmp_path)
    subjects = [
        Subject("slow", lambda: (order.append("slow"), time.sleep(0.01)), lambda: time.sleep(0.02)),
        Subject("fast", lambda: order.append("fast")),
    ]
    slow, fast, commits = interleave(subjects, rounds=4, commit=commit, warm=2)
    commit.close()
    assert order.count("slow") == order.count("fast") == 6
    assert order[:4] == ["fast", "slow", "slow", "fast"]
    assert len(slow.values) == len(fast.values) == len(commits.values) == 4
    assert 10 <= slow.median < 20, "the time of ready() was counted"
    assert fast.median < 5


def test_samples_of_several_windows_are_put_together() -> None:
    first = interleave([Subject("a", lambda: None)], rounds=3)
    both = interleave([Subject("a", lambda: None)], rounds=2, into=first)
    assert len(both) == 1
    assert len(both[0].values) == 5


@pytest.mark.parametrize(
    ("goal", "value", "verdict"),
    [
        (Goal(limit=1.5), 1.5, "pass"),
        (Goal(limit=1.5), 1.51, "miss"),
        (Goal(limit=50, at_least=True), 50, "pass"),
        (Goal(limit=50, at_least=True), 49.9, "miss"),
        (None, 9, ""),
    ],
)
def test_verdicts(goal: Goal | None, value: float, verdict: str) -> None:
    assert Row(cells={}, judged=value, goal=goal).verdict == verdict


def _samples(name: str, clock: float, cpu: float) -> Samples:
    return Samples(name=name, values=[clock], cpu=[cpu])


@pytest.mark.parametrize(
    ("floor", "saver", "commit", "judged", "verdict"),
    [
        ((10, 9), 14.0, 0.4, 1.4, "pass"),
        ((10, 9), 18.0, 0.4, 1.8, "miss"),
        ((10, 9), 18.0, 1.0, 1.4, "pass"),
        ((10, 9), 18.0, 3.0, 0.6, "pass (noisy)"),
        ((10, 5), 18.0, 0.4, 1.8, "miss (noisy)"),
    ],
)
def test_turns_are_judged_without_commits_on_a_slow_disk(
    floor: tuple[float, float], saver: float, commit: float, judged: float, verdict: str
) -> None:
    samples = [_samples("floor", *floor), _samples(lanes.THREADKEEP, saver, 12)]
    row = turns.row("invoke", 200, [*samples, Samples(name="empty commit", values=[commit])])
    assert row.judged == pytest.approx(judged)
    assert row.verdict == verdict
    assert turns.row("invoke", 200, [samples[0], _samples(lanes.SQLITE, saver, 12), samples[0]]).verdict == ""


def test_pages_show_goal_and_value_side_by_side(tmp_path: Path) -> None:
    met = Row(cells={"saver": "a", "ms": 1.234}, judged=1.4, goal=Goal(limit=1.5, aim=1.3))
    missed = Row(cells={"saver": "b", "ms": 1234.5}, judged=1.6, goal=Goal(limit=1.5))
    section = Section(name="s", title="Title", rows=(met, missed), notes=("a note",))
    report.write_markdown(tmp_path / "page.md", {"cores": "2"}, [section], " --quick")
    page = (tmp_path / "page.md").read_text()
    assert "| a | 1.23 | 1.40 | ≤ 1.5 (aim 1.3) | pass |" in page
    assert "| b | 1,234 | 1.60 | ≤ 1.5 | miss |" in page
    assert "1 met, 1 missed" in page and "cores 2" in page and "- a note" in page
    report.write_json(tmp_path / "data.json", {}, [section])
    rows = json.loads((tmp_path / "data.json").read_text())["sections"][0]["rows"]
    assert [row["verdict"] for row in rows] == ["pass", "miss"]


def test_a_measure_that_fails_is_shown_and_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def broken(run: object) -> list[Section]:
        raise ValueError("no such thread")

    monkeypatch.setitem(command.MEASURES, "text", broken)
    assert command.main(["--only", "text", "--only", "once", "--quick", "--scratch", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "ValueError: no such thread" in shown.out and "in broken" in shown.err
    assert "A one megabyte image" in shown.out, "the next measure did not run"


def _busy(times: int) -> None:
    for _ in range(times):
        json.dumps([1])


def test_the_profile_counts_standing_threads_and_this_one_from_start_on() -> None:
    profiler = Profiler(cpu=True)
    work: queue.Queue[int | None] = queue.Queue()

    def stand() -> None:
        while (times := work.get()) is not None:
            _busy(times)
            work.task_done()

    gone, standing = threading.Thread(target=_busy, args=(7,)), threading.Thread(target=stand)
    gone.start()
    gone.join()
    standing.start()
    work.put(100)
    work.join()
    profiler.start()
    work.put(20)
    work.join()
    _busy(3)
    lines = profiler.stop()
    work.put(None)
    standing.join()
    (dumps,) = [line for label, line in lines.items() if label.endswith(" dumps")]
    assert dumps.calls == 23
    assert 0 < dumps.own < 1


def test_bytes_of_tables_and_indexes_add_up_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (name text unique)")
        connection.executemany("insert into t values (?)", [(f"{n:08}",) for n in range(1000)])
    found = {part.name: part for part in parts(connection)}
    connection.close()
    assert sum(part.bytes for part in found.values()) == path.stat().st_size
    assert found["t"].rows == 1000
    assert found["sqlite_autoindex_t_1"].kind == "index"


def test_the_command_measures_and_writes(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "bench", "--quick", "--only", "text", "--scratch", str(tmp_path)]
    line += ["--markdown", str(tmp_path / "page.md"), "--json", str(tmp_path / "data.json")]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "3 goals met, 0 missed" in done.stdout
    assert json.loads((tmp_path / "data.json").read_text())["machine"]["Python"]
    assert "python -m bench --quick --only text" in (tmp_path / "page.md").read_text()
    assert not list(tmp_path.glob("threadkeep-bench-*")), "databases were left behind"
