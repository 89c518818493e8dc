"""Channels: absent is not None, branches never see each other's values, growth costs what is added."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from threadkeep import Memory
from threadkeep.testing.checkpoints import Line, config
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.values import assert_same, assert_same_state


class ChannelContract(Harness):
    """The values of channels from checkpoint to checkpoint."""

    def test_absent_none_and_empty_are_three_things(self, memory: Memory, drive: Drive) -> None:
        """A channel that is absent, None, or empty of some type, comes back as just that at every step."""
        line = Line(memory, drive=drive)
        states: list[dict[str, Any]] = [
            {"a": None, "b": [], "c": {}, "d": ""},
            {"a": [], "b": None, "d": {}},
            {},
            {"b": (), "c": None},
            {"a": [None], "b": [[]], "c": {"": None}, "d": b""},
            {"a": None},
            {"d": [HumanMessage("m", id="m")]},
            {"d": []},
            {"d": None},
        ]
        made = [(line.put(state), state) for state in states]
        for at, state in made:
            assert_same_state(line.values(at), state)
            assert_same_state(drive(memory.threads.get("t").state, at).values, state)

    def test_versions_without_values_and_values_without_versions(self, memory: Memory, drive: Drive) -> None:
        """Versions, and what nodes have seen of them, are kept as given; they decide nothing."""
        line = Line(memory, drive=drive)
        steps: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
            ({"a": 1}, {"a": 1, "b": 1}, {"n": {"a": 1, "b": 1}}),
            ({"a": 1, "b": 2}, {"a": 1}, {"n": {"a": 1}, "m": {}}),
            ({}, {"a": 1, "b": 1.0, "c": "1"}, {"m": {"c": "1"}}),
            ({"c": 3}, {}, {}),
            ({"a": 4}, {"a": 5, "b": 2**60}, {"n": {"a": 1, "b": 5}}),
        ]
        steps = steps * 9  # longer than any run of changes between whole checkpoints
        made = [line.put(values, versions=versions, versions_seen=seen) for values, versions, seen in steps]
        for at, (values, versions, seen) in zip(made, steps, strict=True):
            found = line.get(at).checkpoint
            assert_same_state(found["channel_values"], values)
            assert_same(_sorted(found["channel_versions"]), _sorted(versions))
            assert_same(_sorted(found["versions_seen"]), _sorted(seen))

    def test_channels_that_come_and_go(self, memory: Memory, drive: Drive) -> None:
        """Seventy checkpoints whose channels come and go at random are each what was put."""
        dice = random.Random(1)
        line = Line(memory, drive=drive)
        made = []
        for n in range(70):
            state: dict[str, Any] = {
                f"c{c}": dice.choice([n, [n] * 20, None, {}, "x" * 200])
                for c in range(9)
                if dice.random() < 0.6
            }
            made.append((line.put(state), state))
        for at, state in made:
            assert_same_state(line.values(at), state)

    @pytest.mark.parametrize("namespace", ["", "sub"])
    @pytest.mark.parametrize("run", [False, True], ids=["call", "run"])
    def test_branches_with_equal_versions(
        self, memory: Memory, drive: Drive, namespace: str, run: bool
    ) -> None:
        """Two branches whose channels have the same versions never see each other's values."""
        line = Line(memory, drive=drive, namespace=namespace, run=run)
        root = line.put({"l": [0], "messages": [HumanMessage("root", id="r")], "d": {"k": 0}})
        tips: dict[str, list[str]] = {"a": [root], "b": [root]}
        expected: dict[str, Any] = {}
        for n in range(1, 6):
            for branch in "ab":
                line.at = tips[branch][-1]
                texts = [HumanMessage(f"{branch}{i}", id=f"{i}") for i in range(n)]
                state = {
                    "l": [0, *[f"{branch}{i}" for i in range(n)]],
                    "messages": texts,
                    "d": {"k": branch * n},
                }
                versions = dict.fromkeys(state, n)
                at = line.put(state, versions=versions, source="fork")
                tips[branch].append(at)
                expected[at] = state
        for at, state in expected.items():
            for reader in (line, Line(memory, drive=drive, namespace=namespace)):
                assert_same(reader.values(at), state)
        for branch in "ab":
            for parent, at in zip(tips[branch], tips[branch][1:], strict=False):
                assert line.get(at).parent_config == config("t", parent, namespace)

    @pytest.mark.parametrize(
        "kind", ["numbers", "texts", "long texts", "mixed", "dict", "messages", "nested messages"]
    )
    def test_growing_channels_are_right_at_every_step_and_linear(
        self, memory: Memory, drive: Drive, kind: str
    ) -> None:
        """A list or mapping that grows item by item costs what was added, and every step can be read."""
        whole, steps = _grown(kind, 200), []
        pairs = _pairs(whole["inner"] if kind == "nested messages" else whole)
        sizes = []
        line = Line(memory, drive=drive, run=True)
        for n in range(1, 201):
            grown = dict(pairs[:n]) if kind == "dict" else pairs[:n]
            state = {"c": {"inner": grown, "n": 1} if kind == "nested messages" else grown}
            steps.append((line.put(state), state))
            if n in (100, 200):
                sizes.append(drive(memory.threads.stats, "t"))
        one, two = (size.bytes for size in sizes)
        # What takes less than a kilobyte may be stored anew at each step.
        assert two < 2.7 * one + 64_000, f"{one} bytes for 100 steps, {two} for 200"
        assert two < 200 * (_ITEM[kind] + 220) + 64_000, f"{two} bytes for 200 items of about {_ITEM[kind]}"
        assert sizes[1].rows < 200 * 5
        other = Line(memory, drive=drive)
        for at, state in steps[::17]:
            assert_same(other.values(at), state)
        for found, (_, state) in list(zip(other.tuples(), reversed(steps), strict=True))[::9]:
            assert_same(found.checkpoint["channel_values"], state)

    @pytest.mark.parametrize("seed", range(6))
    def test_lists_and_mappings_edited_anywhere(self, memory: Memory, drive: Drive, seed: int) -> None:
        """Edits at any place of lists and mappings, over every threshold of size, are each what was put."""
        dice = random.Random(seed)
        line = Line(memory, drive=drive, run=seed % 2 == 0)
        state: dict[str, Any] = {"l": [], "d": {}, "m": []}
        made = []
        for n in range(60):
            state = {name: dice.choice(_EDITS)(dice, value, name, n) for name, value in state.items()}
            made.append((line.put(state), state))
        for at, known in made:
            assert_same(line.values(at), known)
        for found, (_, known) in zip(Line(memory, drive=drive).tuples(), reversed(made), strict=True):
            assert_same(found.checkpoint["channel_values"], known)

    @needs("shared")
    @pytest.mark.parametrize("seed", range(3))
    def test_lists_and_mappings_edited_by_two_memories(
        self, memory: Memory, store: Store, drive: Drive, seed: int
    ) -> None:
        """The same from two memories in turn, of which each reads what the other put."""
        dice = random.Random(seed)
        lines = [Line(memory, drive=drive, run=True), Line(store.open(), drive=drive, run=seed == 1)]
        state: dict[str, Any] = {"l": [], "d": {}, "m": []}
        made = []
        for n in range(40):
            line = dice.choice(lines)
            if found := line.load():
                assert_same(found.checkpoint["channel_values"], state)
            state = {name: dice.choice(_EDITS)(dice, value, name, n) for name, value in state.items()}
            made.append((line.put(state), state))
        for line in (*lines, Line(store.open(), drive=drive)):
            for at, known in made:
                assert_same(line.values(at), known)

    @pytest.mark.parametrize("first", [None, 1, 1.0, "00000000000000000000000000000001.0.5"], ids=repr)
    def test_versions_continue_their_kind(self, memory: Memory, drive: Drive, first: Any) -> None:
        """Integers, floats and LangGraph's texts are each continued by greater ones of their kind."""
        saver: Any = memory.checkpointer
        line = Line(memory, drive=drive)
        versions = [saver.get_next_version(None, None) if first is None else first]
        for n in range(12):
            line.put({"a": n}, versions={"a": versions[-1], "b": versions[0]})
            found = line.get().checkpoint["channel_versions"]
            assert_same(_sorted(found), {"a": versions[-1], "b": versions[0]})
            versions.append(saver.get_next_version(max(found.values()), None))
        assert len({type(version) for version in versions}) == 1
        assert versions == sorted(set(versions))
        thread = memory.threads.get("t")
        drive(thread.append, ("user", "hello"))
        after = line.get().checkpoint["channel_versions"]
        assert type(after["messages"]) is type(versions[0])
        assert after["messages"] > versions[-2]


_ITEM = {
    "numbers": 10,
    "texts": 60,
    "long texts": 220,
    "mixed": 60,
    "dict": 80,
    "messages": 60,
    "nested messages": 60,
}


def _grown(kind: str, n: int) -> Any:
    """Return a list or mapping of n items."""
    if kind == "numbers":
        return list(range(10**12, 10**12 + n))
    if kind == "texts":
        return [f"item {i}, a text of some fifty characters or even more" for i in range(n)]
    if kind == "long texts":
        return [f"item {i}" + " that is a long text" * 10 for i in range(n)]
    if kind == "mixed":
        return [(i, {"a": f"a text of some forty characters, {i}"}) if i % 2 else None for i in range(n)]
    if kind == "dict":
        return {f"key {i}": {"n": i, "text": "a text of some forty characters or more"} for i in range(n)}
    messages = [
        HumanMessage(f"message {i} of some fifty characters, more or less", id=f"m{i}") for i in range(n)
    ]
    return messages if kind == "messages" else {"inner": messages, "n": 1}


def _item(dice: random.Random, name: str, n: int) -> Any:
    if name == "m":
        return HumanMessage(f"message {n} {dice.random()}", id=f"id-{dice.randrange(30)}")
    return dice.choice([n, None, True, f"text {n}", "x" * dice.choice([1, 50, 300]), {"n": n}, (n,), [n] * 5])


def _pairs(value: Any) -> list[Any]:
    return list(value.items()) if isinstance(value, dict) else list(value)


def _edit(change: Callable[[random.Random, list[Any], Callable[[], Any]], None]) -> Callable[..., Any]:
    """Return an edit of a list, of a mapping by its pairs, or of messages, none of which shares an id."""

    def edit(dice: random.Random, value: Any, name: str, n: int) -> Any:
        items = _pairs(value)
        new = (
            (lambda: (f"key {dice.randrange(40)}", _item(dice, name, n)))
            if name == "d"
            else (lambda: _item(dice, name, n))
        )
        change(dice, items, new)
        if name == "d":
            return dict(items)
        if name == "m":
            return list({item.id: item for item in items}.values())
        return items

    return edit


def _at(dice: random.Random, items: list[Any]) -> int:
    return dice.randrange(len(items) + 1)


def _append(dice: random.Random, items: list[Any], new: Callable[[], Any]) -> None:
    items.extend(new() for _ in range(dice.choice([1, 1, 3, 20])))


def _insert(dice: random.Random, items: list[Any], new: Callable[[], Any]) -> None:
    items.insert(_at(dice, items), new())


def _remove(dice: random.Random, items: list[Any], new: Callable[[], Any]) -> None:
    start = _at(dice, items)
    del items[start : start + dice.choice([1, 1, 4])]


def _replace(dice: random.Random, items: list[Any], new: Callable[[], Any]) -> None:
    for at in range(_at(dice, items), len(items), dice.choice([1, 2, 50])):
        items[at] = new()


def _reorder(dice: random.Random, items: list[Any], new: Callable[[], Any]) -> None:
    kind = dice.randrange(3)
    if kind == 0:
        items.reverse()
    elif kind == 1:
        dice.shuffle(items)
    elif items:
        items.append(items.pop(0))


def _clear(dice: random.Random, items: list[Any], new: Callable[[], Any]) -> None:
    if dice.random() < 0.2:
        items.clear()


def _leave(dice: random.Random, items: list[Any], new: Callable[[], Any]) -> None:
    """Change nothing."""


_EDITS = [
    _edit(change)
    for change in (_append, _append, _append, _insert, _remove, _replace, _reorder, _clear, _leave)
]


def _sorted(value: Any) -> Any:
    """Return a mapping with its keys in order, inner ones too: their order is no part of what is promised."""
    return {key: _sorted(value[key]) for key in sorted(value)} if isinstance(value, dict) else value
