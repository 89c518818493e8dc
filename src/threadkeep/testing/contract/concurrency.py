"""Many threads, event loops and processes at once, and calls that are cancelled in the middle."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from threadkeep import Memory, StaleRun
from threadkeep.testing.checkpoints import Line, checkpoint, config, stored
from threadkeep.testing.faults import Crash, CrashingDriver
from threadkeep.testing.harness import Harness, Store, needs
from threadkeep.testing.processes import in_child
from threadkeep.testing.values import assert_same


def at_once(*functions: Callable[[], Any]) -> None:
    """Run functions in threads that start together; raise what one of them raised."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(functions))

    def run(function: Callable[[], Any]) -> None:
        try:
            barrier.wait()
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a thread is stuck"
    if errors:
        raise errors[0]


def _names(writers: int, each: int) -> list[str]:
    return [f"{writer}.{n}" for writer in range(writers) for n in range(each)]


def _append(memory: Memory, writer: int, each: int) -> None:
    thread = memory.threads.get("t")
    for n in range(each):
        thread.append(HumanMessage(f"text {n} of {writer}", id=f"{writer}.{n}"))


def _check_appended(memory: Memory, writers: int, each: int) -> None:
    """Assert that everything is there once, in each writer's order, in one line of checkpoints."""
    thread = memory.threads.get("t")
    said = [str(m.id) for m in thread.messages()]
    assert sorted(said) == sorted(_names(writers, each))
    for writer in range(writers):
        mine = [name for name in said if name.startswith(f"{writer}.")]
        assert mine == [f"{writer}.{n}" for n in range(each)]
    assert [m.id for m in thread.state().values["messages"]] == said
    history = list(thread.history(limit=1000))
    assert [e.parent_id for e in history] == [*(e.checkpoint_id for e in history[1:]), None]
    assert [e.messages for e in history] == list(range(len(said), 0, -1))
    assert len(thread.branches()) == 1
    info = thread.info()
    assert (info.messages, info.checkpoints) == (len(said), len(said))


class ConcurrencyContract(Harness):
    """Many at once."""

    def test_appends_from_many_threads(self, memory: Memory) -> None:
        """Appends to one thread from many threads all succeed, and none is lost."""
        at_once(*(partial(_append, memory, writer, 15) for writer in range(6)))
        _check_appended(memory, 6, 15)

    @needs("shared")
    def test_appends_from_many_memories(self, memory: Memory, store: Store) -> None:
        """So do appends by several memories, each from several threads."""
        memories = [memory, store.open(), store.open()]
        at_once(*(partial(_append, memories[writer % 3], writer, 10) for writer in range(6)))
        for reader in memories:
            _check_appended(reader, 6, 10)

    @needs("processes")
    def test_appends_from_many_processes(self, store: Store) -> None:
        """So do appends by several processes."""

        def child(writer: int) -> None:
            memory = self.open(store.place)
            _append(memory, writer, 12)
            memory.close()

        in_child(*(partial(child, writer) for writer in range(4)))
        _check_appended(store.open(), 4, 12)

    def test_appends_on_one_event_loop(self, memory: Memory) -> None:
        """Appends that are gathered on one loop all succeed, and none is lost."""

        async def main() -> None:
            thread = memory.threads.get("t")
            await asyncio.gather(
                *(thread.aappend(HumanMessage("x", id=f"{n}.0")) for n in range(30)), thread.aexists()
            )

        asyncio.run(main())
        _check_appended(memory, 30, 1)

    def test_many_event_loops(self, memory: Memory) -> None:
        """Loops one after the other and side by side, and plain calls between them, use one memory."""

        async def main(name: str, n: int) -> list[str]:
            thread, saver = memory.threads.get(name), memory.checkpointer
            await thread.aappend(HumanMessage("x", id=f"{n}"))
            memory.threads.get(name).append(HumanMessage("y", id=f"{n} plain"))
            pages = [found async for found in saver.alist(config(name))]
            found = await asyncio.gather(thread.amessages(), thread.astate(), memory.threads.alist())
            assert len(pages) == len(found[0])
            return [str(m.id) for m in found[0]]

        for n in range(4):
            asyncio.run(main("one", n))
        at_once(*(partial(asyncio.run, main(f"loop {n}", n)) for n in range(5)))
        said = asyncio.run(main("one", 4))
        assert said == [name for n in range(5) for name in (f"{n}", f"{n} plain")]
        assert len(memory.threads.list()) == 6

    def test_many_threads_on_many_threads(self, memory: Memory) -> None:
        """Readers and writers of many threads at once each see their own thread, whole and in order."""

        def work(n: int) -> None:
            line = Line(memory, f"t{n}", run=n % 2 == 0)
            said: list[Any] = []
            for i in range(12):
                said = [*said, HumanMessage(f"{i} of {n}", id=f"{i}")]
                at = line.put({"messages": said, "l": [n] * 20 * (i % 3)})
                line.write([("messages", said[-1])], f"task {i}")
                assert line.get().checkpoint["id"] == at
                assert_same(line.values()["messages"], said)
            assert len(line.tuples()) == 12
            assert memory.threads.get(f"t{n}").info().messages == 12

        at_once(*(partial(work, n) for n in range(8)))
        assert len(memory.threads.list()) == 8

    def test_one_thread_read_while_it_is_written(self, memory: Memory) -> None:
        """Whatever reads one thread while another writes it sees a state that was put, and never fails."""
        states = [
            {"messages": [HumanMessage(f"{i}", id=f"{i}") for i in range(n)], "n": n} for n in range(40)
        ]
        done = threading.Event()

        def write() -> None:
            line = Line(memory, run=True)
            for state in states:
                line.put(state)
                line.write([("messages", HumanMessage("w", id="w"))])
            done.set()

        def read(run: bool) -> None:
            line, thread = Line(memory, run=run), memory.threads.get("t")
            last = 0
            while not done.is_set():
                found = line.get()
                if found is None:
                    continue
                values = found.checkpoint["channel_values"]
                assert values["n"] >= last
                last = values["n"]
                assert_same(values, states[last])
                assert len(thread.messages()) >= last
                assert thread.info().messages >= last
                counts = [entry.messages for entry in thread.history(limit=3)]
                assert counts == sorted(counts, reverse=True)

        at_once(write, partial(read, False), partial(read, True), partial(read, False))

    @pytest.mark.parametrize("run", [False, True], ids=["call", "run"])
    def test_what_was_not_stored_is_never_seen(self, memory: Memory, run: bool) -> None:
        """A checkpoint whose put failed was seen by no reader while it was on its way."""
        driver = CrashingDriver.around(memory)
        failed: list[str] = []
        seen: set[str] = set()
        done = threading.Event()

        def write() -> None:
            line = Line(memory)
            for n in range(150):
                made: Any = checkpoint({"n": n, "messages": [HumanMessage(f"{n}", id=f"{n}")]}, after=line.at)
                if n % 2:
                    driver.stop_before(1 + n % 5, only_writes=True)
                try:
                    memory.checkpointer.put(line.config(line.at), made, {"source": "loop", "step": n}, {})
                    line.at = made["id"]
                except Crash:
                    failed.append(made["id"])
            done.set()

        def read() -> None:
            line, thread = Line(memory, run=run), memory.threads.get("t")
            while not done.is_set():
                found = line.get()
                if found is not None:
                    seen.add(found.checkpoint["id"])
                    seen.update(entry.checkpoint_id for entry in thread.history(limit=2))

        at_once(write, read, read)
        assert len(failed) > 50
        assert seen.isdisjoint(failed)
        assert len(seen) > 5

    @needs("processes")
    def test_two_processes_on_one_thread(self, memory: Memory, store: Store) -> None:
        """Runs of several processes on one thread: each put is stored or refused, and all is one line."""

        def runs(writer: int, one: Memory) -> list[str]:
            done: list[str] = []
            line = Line(one, run=True)
            while len(done) < 12:
                line.load()
                said = list(line.values()["messages"]) if line.at else []
                name = f"{writer}.{len(done)}"
                try:
                    line.put({"messages": [*said, HumanMessage(name, id=name)]})
                except StaleRun:
                    continue
                done.append(name)
                line.write([("messages", HumanMessage("w", id=f"w{name}"))], name)
            return done

        def child(writer: int) -> list[str]:
            one = self.open(store.place)
            done = runs(writer, one)
            one.close()
            return done

        mine: list[str] = []
        children = (partial(child, 1), partial(child, 2))
        results = [*in_child(*children, before_wait=lambda: mine.extend(runs(0, memory))), mine]
        assert sorted(name for done in results for name in done) == sorted(_names(3, 12))
        _check_appended(memory, 3, 12)
        assert all(len(one["writes"]) == 1 for one in stored(memory))

    @pytest.mark.parametrize("seed", range(3))
    def test_cancelled_calls(self, memory: Memory, seed: int) -> None:
        """A call that is cancelled is done or not; what follows works, and what it left is whole."""
        dice = random.Random(seed)

        async def main() -> None:
            for n in range(40):
                name = f"t{n % 4}"
                said = [HumanMessage("x" * 300, id=f"{n} {i}") for i in range(9)]
                made: Any = checkpoint({"messages": said, "l": [n] * 99})
                put: Any = (config(name), made, {"source": "loop", "step": n, "parents": {}}, {})
                task = asyncio.ensure_future(dice.choice(_calls(memory, name, n, put))())
                for _ in range(dice.randrange(6)):
                    await asyncio.sleep(dice.choice([0, 0, 0.0005]))
                task.cancel()
                await asyncio.wait([task])
                assert (
                    task.cancelled() or task.exception() is None or isinstance(task.exception(), LookupError)
                )
                await memory.checkpointer.aput(*put)
                found: Any = await memory.checkpointer.aget_tuple(config(name, made["id"]))
                assert_same(found.checkpoint["channel_values"], made["channel_values"])

        asyncio.run(main())
        assert memory.doctor() == ()

    def test_a_cancelled_put_is_put_again(self, memory: Memory) -> None:
        """A put that was cancelled, wherever it was, is put once when it is repeated."""

        async def main(turns: int) -> None:
            line = Line(memory, f"t{turns}")
            saver: Any = memory.checkpointer
            line.put({"messages": [HumanMessage("a", id="a")]})
            state = {"messages": [HumanMessage("a", id="a"), HumanMessage("b", id="b")], "l": ["x" * 99] * 30}
            made = checkpoint(state, after=line.at)
            put: tuple[Any, ...] = (
                line.config(line.at),
                made,
                {"source": "loop", "step": 1, "parents": {}},
                {},
            )
            task = asyncio.ensure_future(saver.aput(*put))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            await saver.aput(*put)
            assert len(line.ids()) == 2
            assert_same(line.values(), state)
            assert [m.id for m in await memory.threads.get(f"t{turns}").amessages()] == ["a", "b"]

        for turns in range(12):
            asyncio.run(main(turns))


def _calls(memory: Memory, name: str, n: int, put: Any) -> list[Callable[[], Any]]:
    """Return calls that change or read a thread."""
    saver: Any = memory.checkpointer
    threads, thread = memory.threads, memory.threads.get(name)
    place: Any = config(name, put[1]["id"])
    return [
        partial(saver.aput, *put),
        partial(saver.aput_writes, place, [("l", put[1]["channel_values"])], "task"),
        partial(thread.aappend, ("user", "y")),
        partial(thread.afork, before=f"{n - 4} 0"),
        partial(threads.aprune, [name], keep_last=3),
        partial(threads.acopy, name, f"copy {n}"),
        partial(threads.adelete, name),
        partial(thread.aupdate, title=f"{n}"),
        partial(thread.astate),
        partial(saver.adelete_for_runs, ["r"]),
    ]
