"""`BaseCheckpointSaver` called directly: ids, filters, limits, order, idempotence, versions."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import uuid
from decimal import Decimal
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.graph import START, StateGraph

from threadkeep.errors import InvalidThreadId

from .kit import Drive, Log, thread

ODD_IDS = [
    "plain", "Plain", "trailing ", " leading", "a\x00b", "a", "line\nbreak", "tab\t", "%", "_", "*", "?",
    "'; drop table threads; --", '"quoted"', "../../etc/passwd", "C:\\x", "sqlite://", "é", "e\u0301",
    "ß", "ss", "İ", "i", "ı", "тест", "线程", "🙂", "👩\u200d👧", "\u202egnp.exe", "\ufeff", "0", "00", "-1",
    "1e3", "NULL", "None", "[]", "x" * 1024, "🙂" * 1024,
]  # fmt: skip


def put(
    saver: Any,
    drive: Drive,
    values: dict[str, Any],
    *,
    thread_id: Any = "t",
    namespace: str = "",
    parent: str | None = None,
    checkpoint_id: str | None = None,
    metadata: dict[str, Any] | None = None,
    run: dict[str, Any] | None = None,
) -> Any:
    """Put a checkpoint as a program without a graph would; return the config of it."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = {key: uuid.uuid4().hex for key in values}
    if checkpoint_id:
        checkpoint["id"] = checkpoint_id
    config: dict[str, Any] = thread(thread_id, checkpoint_ns=namespace)
    if parent:
        config["configurable"]["checkpoint_id"] = parent
    if run:
        config["metadata"] = run
    return drive(
        saver.put,
        config,
        checkpoint,
        {"source": "loop", "step": 0, "parents": {}, **(metadata or {})},
        dict(checkpoint["channel_versions"]),
    )


def ids(tuples: list[CheckpointTuple]) -> list[str]:
    return [t.checkpoint["id"] for t in tuples]


def test_ids_are_compared_exactly(saver: Any, drive: Drive) -> None:
    for n, name in enumerate(ODD_IDS):
        put(saver, drive, {"n": n}, thread_id=name)
    for n, name in enumerate(ODD_IDS):
        got = drive(saver.get_tuple, thread(name))
        assert got.checkpoint["channel_values"] == {"n": n}
        assert got.config["configurable"]["thread_id"] == name
        assert len(drive(saver.list, thread(name))) == 1
    drive(saver.delete_thread, "Plain")
    assert drive(saver.get_tuple, thread("Plain")) is None
    assert drive(saver.get_tuple, thread("plain")) is not None


@pytest.mark.stricter
def test_integers_are_their_decimal_text(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    graph.add_node("n", lambda state: {"log": ["n"]})
    graph.add_edge(START, "n")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": ["a"]}, thread(42))
    assert drive(app.invoke, {"log": ["b"]}, thread("42"))["log"] == ["a", "n", "b", "n"]
    assert drive(app.get_state, thread(42)).values["log"] == ["a", "n", "b", "n"]
    assert len(drive(saver.list, thread(42))) == 6
    drive(saver.delete_thread, 42)
    assert drive(saver.list, thread("42")) == []
    put(saver, drive, {"n": 1}, thread_id=2**70)
    assert drive(saver.get_tuple, thread(str(2**70))) is not None


@pytest.mark.stricter
def test_half_a_surrogate_pair_is_text_too(saver: Any, drive: Drive) -> None:
    for n, name in enumerate(["\ud800", "\udc00", "\ud800x"]):
        put(saver, drive, {"half": name}, thread_id=name, metadata={name: name})
        (found,) = drive(saver.list, thread(name), filter={name: name})
        assert found.checkpoint["channel_values"] == {"half": name}
        assert len(drive(saver.list, None)) == n + 1


@pytest.mark.stricter
@pytest.mark.crosswise
@pytest.mark.parametrize("bad", ["", "x" * 1025, None, 1.5, True, b"bytes", ("t",)], ids=repr)
def test_what_is_no_thread_id(saver: Any, drive: Drive, bad: Any) -> None:
    with pytest.raises(InvalidThreadId, match="thread"):
        put(saver, drive, {"n": 1}, thread_id=bad)
    with pytest.raises(InvalidThreadId, match="thread"):
        drive(saver.get_tuple, thread(bad))
    with pytest.raises(InvalidThreadId, match="thread"):
        drive(saver.delete_thread, bad)


def test_limits(saver: Any, drive: Drive) -> None:
    for n in range(5):
        put(saver, drive, {"n": n})
    assert len(drive(saver.list, thread(), limit=None)) == 5
    assert drive(saver.list, thread(), limit=0) == []
    newest = drive(saver.list, thread(), limit=2)
    assert [t.checkpoint["channel_values"]["n"] for t in newest] == [4, 3]
    assert len(drive(saver.list, thread(), limit=50)) == 5


@pytest.mark.stricter
def test_a_negative_limit_is_refused(saver: Any, drive: Drive) -> None:
    with pytest.raises(ValueError, match="limit"):
        drive(saver.list, thread(), limit=-1)


def test_before_and_exact_id(saver: Any, drive: Drive) -> None:
    configs = [put(saver, drive, {"n": n}) for n in range(4)]
    earlier = drive(saver.list, thread(), before=configs[2])
    assert ids(earlier) == [c["configurable"]["checkpoint_id"] for c in (configs[1], configs[0])]
    (one,) = drive(saver.list, configs[1])
    assert one.checkpoint["channel_values"] == {"n": 1}
    assert drive(saver.list, thread(), before=configs[0]) == []
    unknown = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": str(uuid6())}}
    assert drive(saver.get_tuple, unknown) is None


def test_before_may_name_a_checkpoint_of_another_namespace_or_none_at_all(saver: Any, drive: Drive) -> None:
    """As a replayed subgraph asks: what did I know before that checkpoint of my parent?"""
    made = []
    for n in range(3):
        made.append(str(uuid6()))
        put(saver, drive, {"n": n}, checkpoint_id=made[-1])
        put(saver, drive, {"n": n}, namespace="sub")
    sub = thread("t", checkpoint_ns="sub")
    never_stored = {"configurable": {"checkpoint_id": str(uuid6())}}
    asked = [drive(saver.list, sub, before={"configurable": {"checkpoint_id": each}}) for each in made]
    assert [[t.checkpoint["channel_values"]["n"] for t in found] for found in asked] == [[], [0], [1, 0]]
    assert len(drive(saver.list, sub, before=never_stored)) == 3
    assert len(drive(saver.list, sub, before=never_stored, limit=1)) == 1


def test_list_without_a_config_sees_every_thread(saver: Any, drive: Drive) -> None:
    for name, namespace in itertools.product("abc", ["", "sub"]):
        put(saver, drive, {"n": name}, thread_id=name, namespace=namespace)
    everything = drive(saver.list, None)
    places = {
        (t.config["configurable"]["thread_id"], t.config["configurable"]["checkpoint_ns"]) for t in everything
    }
    assert len(everything) == len(places) == 6
    assert len(drive(saver.list, None, limit=4)) == 4
    assert len(drive(saver.list, None, filter={"source": "loop"})) == 6
    assert drive(saver.list, None, filter={"source": "input"}) == []


FILTERS = [
    {"plain": "text"}, {"n": 1}, {"n": 1.5}, {"flag": False}, {"nested": {"a": [1, {"b": None}]}},
    {"list": [1, "2", None]}, {"dots.in.key": 1}, {"quote's \"key\"": 1}, {"ключ с пробелом": "значение"},
    {"$.path": 1}, {"[0]": 1}, {"%": "%"}, {"_": "_"}, {"": "empty key"}, {"emoji 🙂": "🙂"}, {"big": 2**62},
    {"quotes": "it's \"quoted\" \\ back"}, {"newline": "a\nb"}, {"deep": [[[[]]]]}, {"empty": {}},
]  # fmt: skip


@pytest.mark.crosswise
@pytest.mark.parametrize("wanted", FILTERS, ids=[repr(f)[:30] for f in FILTERS])
def test_filters_match_any_json_value_under_any_key(saver: Any, drive: Drive, wanted: Any) -> None:
    decoys = [dict.fromkeys(wanted, "other"), {"x" + k: v for k, v in wanted.items()}, {}]
    for decoy in decoys:
        put(saver, drive, {"n": 0}, metadata=decoy)
    target = put(saver, drive, {"n": 1}, metadata={**wanted, "more": 1})
    put(saver, drive, {"n": 2}, metadata=decoys[0])
    found = drive(saver.list, thread(), filter=wanted)
    assert ids(found) == [target["configurable"]["checkpoint_id"]]
    (key, value) = next(iter(wanted.items()))
    assert found[0].metadata[key] == value
    assert ids(drive(saver.list, thread(), filter={**wanted, "more": 1})) == ids(found)
    assert drive(saver.list, thread(), filter={**wanted, "more": 2}) == []
    assert len(drive(saver.list, thread(), filter={})) == 5


@pytest.mark.stricter
def test_filters_compare_exactly(saver: Any, drive: Drive) -> None:
    """No database's idea of equality: True is not 1, nothing is not None, large integers keep their end."""
    values = [True, 1, 1.5, "1", None, 2**70, 2**70 + 1, "", [], [1], [True], {"a": 1}, {"a": 1, "b": 2}]
    for n, value in enumerate(values):
        put(saver, drive, {"n": n}, metadata={"value": value})
    put(saver, drive, {"n": "without"})
    for n, value in enumerate(values):
        found = drive(saver.list, thread(), filter={"value": value})
        assert [t.checkpoint["channel_values"]["n"] for t in found] == [n]
        assert repr(found[0].metadata["value"]) == repr(value)


VALUES = [
    uuid.UUID(int=7), dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC), dt.date(2026, 3, 1), "nul\x00inside",
    2**70, dt.timedelta(seconds=5), Decimal("1.10"), True,
]  # fmt: skip


@pytest.mark.stricter
@pytest.mark.crosswise
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_metadata_of_a_run_with_any_value(saver: Any, drive: Drive, value: Any) -> None:
    graph = StateGraph(Log)
    graph.add_node("n", lambda state: {"log": ["n"]})
    graph.add_edge(START, "n")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, {"log": []}, {**thread(), "metadata": {"odd key.": value, "n": 1}})
    drive(app.invoke, {"log": []}, {**thread(), "metadata": {"odd key.": "other", "n": 2}})
    found = drive(saver.list, thread(), filter={"odd key.": value})
    assert [t.metadata["n"] for t in found] == [1, 1, 1]
    assert len(drive(app.get_state_history, thread(), filter={"odd key.": value})) == 3


def test_metadata_from_run_and_configurable(saver: Any, drive: Drive) -> None:
    graph = StateGraph(Log)
    graph.add_node("n", lambda state: {"log": ["n"]})
    graph.add_edge(START, "n")
    app = graph.compile(checkpointer=saver)
    config = {
        **thread(user="olena", tier=3, __hidden="no"),
        "metadata": {"run_id": "r1", "source_app": "web"},
    }
    drive(app.invoke, {"log": []}, config)
    metadata = drive(app.get_state, thread()).metadata
    expected = {"user": "olena", "tier": 3, "run_id": "r1", "source_app": "web", "source": "loop", "step": 1}
    assert {key: metadata[key] for key in expected} == expected
    assert not {"__hidden", "thread_id", "checkpoint_id", "checkpoint_ns"} & set(metadata)
    assert len(drive(saver.list, thread(), filter={"user": "olena", "source": "loop"})) == 2


@pytest.mark.stricter
def test_latest_is_by_insertion_not_by_id(saver: Any, drive: Drive) -> None:
    high, low = str(uuid6()), "00000000-0000-6000-8000-000000000001"
    first = put(saver, drive, {"n": 1}, checkpoint_id=high)
    put(saver, drive, {"n": 2}, checkpoint_id=low, parent=high)
    assert drive(saver.get_tuple, thread()).checkpoint["id"] == low
    assert ids(drive(saver.list, thread())) == [low, high]
    assert ids(drive(saver.list, thread(), before=thread("t", checkpoint_id=low))) == [high]
    assert drive(saver.list, thread(), before=first) == []


def test_put_twice_is_put_once(saver: Any, drive: Drive) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"], checkpoint["channel_versions"] = {"a": [1]}, {"a": "1"}
    arguments = (thread("t", checkpoint_ns=""), checkpoint, {"source": "loop", "step": 0}, {"a": "1"})
    configs = [drive(saver.put, *arguments) for _ in range(3)]
    assert configs[0] == configs[1] == configs[2]
    assert len(drive(saver.list, thread())) == 1
    for _ in range(3):
        drive(saver.put_writes, configs[0], [("a", "x"), ("b", ["y"])], "task", "path")
    written = drive(saver.get_tuple, thread()).pending_writes
    assert written == [("task", "a", "x"), ("task", "b", ["y"])]


def test_writes_may_come_before_their_checkpoint(saver: Any, drive: Drive) -> None:
    checkpoint = empty_checkpoint()
    config = thread("t", checkpoint_ns="", checkpoint_id=checkpoint["id"])
    drive(saver.put_writes, config, [("a", 1)], "early")
    assert drive(saver.get_tuple, config) is None
    drive(saver.put, thread("t", checkpoint_ns=""), checkpoint, {"source": "loop", "step": 0}, {})
    drive(saver.put_writes, config, [("a", 2)], "late")
    written = drive(saver.get_tuple, config).pending_writes
    assert written == [("early", "a", 1), ("late", "a", 2)]


def test_writes_are_in_the_order_of_path_task_and_index(saver: Any, drive: Drive) -> None:
    config = put(saver, drive, {"n": 1})
    for path, task in (("~b", "1"), ("~a", "3"), ("~a", "2"), ("", "9")):
        drive(saver.put_writes, config, [("c", f"{path}{task}{n}") for n in range(12)], task, path)
    values = [value for _, _, value in drive(saver.get_tuple, config).pending_writes]
    assert values == [f"{p}{n}" for p in ("9", "~a2", "~a3", "~b1") for n in range(12)]


def test_special_writes_replace_each_other_and_regular_ones_do_not(saver: Any, drive: Drive) -> None:
    config = put(saver, drive, {"n": 1})
    drive(saver.put_writes, config, [("__resume__", ["a"])], "task")
    drive(saver.put_writes, config, [("__resume__", ["a", "b"])], "task")
    drive(saver.put_writes, config, [("c", "first")], "task")
    drive(saver.put_writes, config, [("c", "second")], "task")
    written = drive(saver.get_tuple, config).pending_writes
    assert sorted(written) == [("task", "__resume__", ["a", "b"]), ("task", "c", "first")]


def test_absent_channels_stay_absent(saver: Any, drive: Drive) -> None:
    """A version without a value is a channel that is empty now, whatever an ancestor held."""
    first = put(saver, drive, {"a": 1, "b": 2})
    checkpoint = empty_checkpoint()
    checkpoint["channel_versions"] = {"a": "v2", "b": "v9"}
    checkpoint["channel_values"] = {"a": 3}
    drive(saver.put, first, checkpoint, {"source": "loop", "step": 1}, {"a": "v2", "b": "v9"})
    assert drive(saver.get_tuple, thread()).checkpoint["channel_values"] == {"a": 3}
    assert drive(saver.get_tuple, first).checkpoint["channel_values"] == {"a": 1, "b": 2}


@pytest.mark.parametrize("current", [None, 1, 7, 2.0, "00000000000000000000000000000009.0.5"])
def test_the_next_version_continues_the_kind_it_is_given(saver: Any, current: Any) -> None:
    if isinstance(current, float) and not type(saver).__module__.startswith("threadkeep"):
        pytest.skip("LangGraph's saver knows text and integers")
    versions = [current]
    for _ in range(12):
        versions.append(saver.get_next_version(versions[-1], None))
    known = versions[1:] if current is None or isinstance(current, int | float) else versions
    assert known == sorted(known)
    assert len(set(known)) == len(known)
    if isinstance(current, str):
        assert all(isinstance(v, str) for v in known)


def test_get_and_config_specs(saver: Any, drive: Drive) -> None:
    put(saver, drive, {"n": 1})
    assert isinstance(saver, BaseCheckpointSaver)
    assert drive(saver.get, thread())["channel_values"] == {"n": 1}
    assert drive(saver.get, thread("none")) is None
    assert saver.config_specs == []


def test_writing_while_iterating(saver: Any) -> None:
    drive = Drive(False)
    for n in range(6):
        put(saver, drive, {"n": n})
    seen = []
    for t in saver.list(thread()):
        seen.append(t.checkpoint["channel_values"]["n"])
        put(saver, drive, {"n": 100})
        saver.put_writes(t.config, [("c", 1)], "task")
    assert seen[:6] == [5, 4, 3, 2, 1, 0]
    half = iter(saver.list(thread()))
    next(half)
    saver.delete_thread("t")
    assert len(list(half)) <= 11


def test_writing_while_iterating_on_a_loop(saver: Any) -> None:
    sync = Drive(False)
    for n in range(6):
        put(saver, sync, {"n": n})

    async def main() -> list[int]:
        seen = []
        async for t in saver.alist(thread()):
            seen.append(t.checkpoint["channel_values"]["n"])
            await saver.aput_writes(t.config, [("c", 1)], "task")
            put(saver, sync, {"n": 100})
        return seen

    assert asyncio.run(main())[:6] == [5, 4, 3, 2, 1, 0]
