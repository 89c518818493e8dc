"""Random histories against a model that is nothing but Python lists and dictionaries."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from threadkeep import Memory
from threadkeep.testing.checkpoints import Line
from threadkeep.testing.harness import Harness, Store
from threadkeep.testing.values import assert_same, assert_same_state

_numbers = itertools.count()
_SETTINGS = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[
        # A memory is shared by the examples of a test, and the tests by the backends.
        HealthCheck.function_scoped_fixture,
        HealthCheck.differing_executors,
        HealthCheck.too_slow,
    ],
)

_small = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3), st.just(b"x")
)
_items = st.one_of(_small, st.text(min_size=30, max_size=50), st.lists(_small, max_size=3), st.tuples(_small))
_keys = st.one_of(st.text(max_size=2), st.integers(0, 9), st.sampled_from([None, 1.5, (1,), b"k"]))
_places = st.integers(0, 40)

_list_edits = st.one_of(
    st.tuples(st.just("append"), st.lists(_items, min_size=1, max_size=12)),
    st.tuples(st.just("insert"), _places, _items),
    st.tuples(st.just("remove"), _places, st.integers(1, 5)),
    st.tuples(st.just("replace"), _places, _items),
    st.tuples(st.sampled_from(["reverse", "clear", "none", "same", "double"])),
)
_dict_edits = st.one_of(
    st.tuples(st.just("set"), _keys, _items),
    st.tuples(st.just("many"), st.dictionaries(_keys, _items, min_size=3, max_size=12)),
    st.tuples(st.just("drop"), _places),
    st.tuples(st.sampled_from(["rotate", "clear", "none", "same"])),
)
_talk = st.one_of(
    st.tuples(st.just("say"), st.integers(1, 4)),
    st.tuples(st.just("append"), st.integers(1, 3)),
    st.tuples(st.just("remove"), _places),
    st.tuples(st.just("change"), _places),
    st.tuples(st.just("fork"), _places),
    st.tuples(st.just("fork before"), _places),
    st.tuples(st.just("prune"), st.integers(1, 6)),
    st.tuples(st.sampled_from(["clear", "copy", "forget", "write"])),
)


class PropertyContract(Harness):
    """Random histories."""

    @_SETTINGS
    @given(st.lists(st.tuples(_list_edits, _dict_edits, _places, st.booleans()), min_size=1, max_size=14))
    def test_lists_and_mappings_are_what_was_put(self, store: Store, memory: Memory, steps: Any) -> None:
        """Whatever edits follow one another, on whichever checkpoint, each checkpoint is what was put."""
        line = Line(memory, f"{next(_numbers)}")
        made: list[tuple[Any, dict[str, Any]]] = []
        for list_edit, dict_edit, parent, forget in steps:
            line.at, state = (
                made[parent % len(made)] if made and parent % 3 == 0 else (made or [(None, {})])[-1]
            )
            if forget:
                memory._engine.threads.drop_all()
            state = {
                "l": _edited(state.get("l") or [], *list_edit),
                "d": _changed(state.get("d") or {}, *dict_edit),
            }
            made.append((line.put(state), state))
            assert_same_state(line.values(), state)
        for at, state in made:
            assert_same_state(line.values(at), state)
        for found, (_, state) in zip(line.tuples(), reversed(made), strict=True):
            assert_same_state(found.checkpoint["channel_values"], state)
        memory._engine.threads.drop_all()
        memory.threads.prune([line.thread_id], keep_last=3)
        for at, state in made[-3:]:
            assert_same_state(line.values(at), state)
        assert memory.doctor(line.thread_id) == ()

    @_SETTINGS
    @given(st.lists(_talk, min_size=1, max_size=14))
    def test_threads_are_what_was_said(self, memory: Memory, steps: Any) -> None:
        """Messages said, removed, replaced, forked, pruned and copied: state and record are the model's."""
        model = _Model(memory)
        for name, *arguments in steps:
            model.do(name, *arguments)
            model.check()
        memory._engine.threads.drop_all()
        model.check()
        assert model.order == [] or memory.doctor(model.line.thread_id) == ()


class _Model:
    """A thread, and beside it what it should be."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.line = Line(memory, f"{next(_numbers)}")
        self.ids = itertools.count()
        self.states: dict[str, list[BaseMessage]] = {}
        self.records: dict[str, dict[str, BaseMessage]] = {}
        self.writes: dict[str, int] = {}
        self.order: list[str] = []

    def do(self, name: str, *arguments: Any) -> None:
        """Do one step to both."""
        getattr(self, name.replace(" ", "_"))(*arguments)

    @property
    def thread(self) -> Any:
        return self.memory.threads.get(self.line.thread_id)

    @property
    def now(self) -> list[BaseMessage]:
        return self.states[self.order[-1]] if self.order else []

    def new(self, count: int) -> list[BaseMessage]:
        kinds: list[Callable[..., BaseMessage]] = [HumanMessage, AIMessage]
        return [kinds[n % 2](f"text {n} " * (n % 9), id=f"m{n}") for n in itertools.islice(self.ids, count)]

    def made(self, at: str, state: list[BaseMessage], record: dict[str, BaseMessage]) -> None:
        self.order.append(at)
        self.states[at], self.records[at], self.writes[at] = state, dict(record), 0

    def put(self, state: list[BaseMessage]) -> None:
        self.line.at = self.order[-1] if self.order else None
        record = dict(self.records[self.order[-1]]) if self.order else {}
        was = {id(message) for message in self.now}
        record.update({str(m.id): m for m in state if id(m) not in was})
        self.made(self.line.put({"messages": state}), state, record)

    def say(self, count: int) -> None:
        self.put([*self.now, *self.new(count)])

    def append(self, count: int) -> None:
        new = self.new(count)
        info = self.thread.append(new)
        record = dict(self.records[self.order[-1]]) if self.order else {}
        record.update({str(m.id): m for m in new})
        self.made(info.checkpoint_id, [*self.now, *new], record)

    def remove(self, place: int) -> None:
        if self.now:
            at = place % len(self.now)
            self.put([*self.now[:at], *self.now[at + 1 :]])

    def change(self, place: int) -> None:
        if self.now:
            at = place % len(self.now)
            changed = AIMessage(f"changed {next(self.ids)}", id=self.now[at].id)
            self.put([*self.now[:at], changed, *self.now[at + 1 :]])

    def clear(self) -> None:
        self.put([])

    def fork(self, place: int) -> None:
        if self.order:
            at = self.order[place % len(self.order)]
            self.made(self.thread.fork(at).checkpoint_id, self.states[at], self.records[at])

    def fork_before(self, place: int) -> None:
        """Fork before a message that came with a checkpoint whose parent is still there."""
        for at, parent in list(zip(self.order[1:], self.order, strict=False))[place % 9 :]:
            entered = [m for m in self.records[at] if m not in self.records[parent]]
            first = self.thread.state(at).checkpoint
            if entered and first.parent_id == parent and first.source != "fork":
                name = entered[0]
                if all(name not in self.records[other] for other in self.order[: self.order.index(at)]):
                    made = self.thread.fork(before=name)
                    self.made(made.checkpoint_id, self.states[parent], self.records[parent])
                    return

    def prune(self, keep: int) -> None:
        if self.order:
            self.memory.threads.prune([self.line.thread_id], keep_last=keep)
            self.order = self.order[-keep:]

    def copy(self) -> None:
        if self.order:
            source, target = self.line.thread_id, f"{next(_numbers)}"
            self.memory.threads.copy(source, target)
            self.memory.threads.delete(source)
            self.line = Line(self.memory, target)

    def forget(self) -> None:
        self.memory._engine.threads.drop_all()

    def write(self) -> None:
        if self.order:
            at = self.order[len(self.order) // 2]
            self.writes[at] += 1
            self.line.write([("messages", self.states[at])], f"task {self.writes[at]}", at=at)

    def check(self) -> None:
        """Assert that the thread is what it should be."""
        if not self.order:
            assert not self.thread.exists()
            return
        assert self.line.ids() == self.order[::-1]
        for at in self.order:
            assert_same(self.line.values(at).get("messages", []), self.states[at])
            assert len(self.line.pending(at)) == self.writes[at]
        assert_same(list(self.thread.messages()), list(self.records[self.order[-1]].values()))
        assert self.thread.info().checkpoints == len(self.order)


def _edited(items: list[Any], name: str, *arguments: Any) -> Any:
    """Return a list with an edit."""
    items = list(items)
    at = arguments[0] % (len(items) + 1) if arguments and isinstance(arguments[0], int) else 0
    if name == "append":
        return items + arguments[0]
    if name == "insert":
        return [*items[:at], arguments[1], *items[at:]]
    if name == "remove":
        return items[:at] + items[at + arguments[1] :]
    if name == "replace":
        return [*items[:at], arguments[1], *items[at + 1 :]]
    return {"reverse": items[::-1], "clear": [], "none": None, "same": items, "double": (items * 2)[:90]}[
        name
    ]


def _changed(items: dict[Any, Any], name: str, *arguments: Any) -> Any:
    """Return a mapping with a change."""
    pairs = list(items.items())
    if name == "set":
        return {**items, arguments[0]: arguments[1]}
    if name == "many":
        return {**items, **arguments[0]}
    if name == "drop":
        at = arguments[0] % (len(pairs) + 1)
        return dict(pairs[:at] + pairs[at + 1 :])
    return {"rotate": dict(pairs[1:] + pairs[:1]), "clear": {}, "none": None, "same": items}[name]
