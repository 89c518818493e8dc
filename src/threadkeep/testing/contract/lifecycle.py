"""Opening, closing, forking: when a memory works, and what it says when it does not any more."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from threadkeep import Memory, MemoryClosed, ThreadkeepError
from threadkeep.testing.checkpoints import Line, checkpoint, config
from threadkeep.testing.drive import Drive
from threadkeep.testing.harness import Harness, Store, needs, open_files
from threadkeep.testing.processes import in_child


def calls(memory: Memory, drive: Drive) -> list[Callable[[], Any]]:
    """Return a call of every method that reads or writes."""
    threads, saver, thread = memory.threads, memory.checkpointer, memory.threads.get("t")
    there: Any = config("t", "x")
    made: Any = checkpoint({})
    told: Any = {"source": "loop", "step": 0, "parents": {}}
    return [
        lambda: drive(threads.list),
        lambda: drive(threads.delete, "t"),
        lambda: drive(threads.copy, "t", "u"),
        lambda: drive(threads.prune),
        lambda: drive(threads.prune, ["t"], dry_run=True),
        lambda: drive(threads.stats, "t"),
        lambda: drive(thread.info),
        lambda: drive(thread.exists),
        lambda: drive(thread.update, title="x"),
        lambda: drive(thread.append, ("user", "x")),
        lambda: drive(thread.messages),
        lambda: drive(thread.state),
        lambda: drive(thread.history),
        lambda: drive(thread.branches),
        lambda: drive(thread.fork, "x"),
        lambda: drive(thread.usage),
        lambda: drive(thread.calls),
        lambda: drive(thread.delete),
        lambda: drive(saver.get_tuple, there),
        lambda: drive(saver.get, there),
        lambda: drive(saver.list, None),
        lambda: drive(saver.put, config(), made, told, {}),
        lambda: drive(saver.put_writes, there, [("a", 1)], "task"),
        lambda: drive(saver.delete_thread, "t"),
        lambda: drive(saver.delete_for_runs, ["r"]),
        lambda: drive(saver.copy_thread, "t", "u"),
        lambda: drive(saver.prune, ["t"]),
        lambda: drive(saver.get_delta_channel_history, config=there, channels=["a"]),
        lambda: drive(memory.stats),
        lambda: drive(memory.size),
        lambda: drive(memory.compact),
        lambda: drive(memory.doctor),
        lambda: drive(memory.doctor, "t"),
    ]


class LifecycleContract(Harness):
    """Opening and closing."""

    def test_after_close_every_call_says_so(self, memory: Memory, drive: Drive) -> None:
        """Every method raises MemoryClosed, which says how to go on; closing again does nothing."""
        Line(memory, drive=drive).put({"a": 1})
        assert not memory.closed
        drive(memory.close)
        drive(memory.close)
        assert memory.closed
        assert "closed" in repr(memory)
        silent = []
        for n, call in enumerate(calls(memory, drive)):
            try:
                call()
            except MemoryClosed as error:
                assert "threadkeep.open(" in str(error)
            else:
                silent.append(n)
        assert silent == []

    def test_a_memory_as_a_context(self, store: Store) -> None:
        """`with` and `async with` close at the end, and let an error of the block through."""
        with store.open() as memory:
            memory.threads.get("t").append(("user", "x"))
        assert memory.closed

        async def main() -> Memory:
            async with store.open() as memory:
                await memory.threads.get("t").aappend(("user", "x"))
            return memory

        assert asyncio.run(main()).closed
        with pytest.raises(ZeroDivisionError), store.open() as memory:
            raise ZeroDivisionError
        assert memory.closed

    @needs("shared")
    def test_reopening(self, memory: Memory, store: Store, drive: Drive) -> None:
        """What was stored is there when the storage is opened again, queued input included."""
        line = Line(memory, drive=drive, run=True)
        at = line.put({"__start__": {"messages": []}, "a": [1, (2,)]}, source="input")
        drive(memory.close)
        for n in range(5):
            again = store.open(create=False)
            line = Line(again, drive=drive, run=True)
            assert line.load().checkpoint["id"] == at
            at = line.put({"a": [n, (n,)]})
            line.write([("a", n)])
            drive(again.close)
        assert open_files(store.place) == []
        assert len(Line(store.open(), drive=drive).tuples()) == 6

    def test_closing_while_others_work(self, memory: Memory) -> None:
        """A call on its way when the memory closes is done or says that it is closed; none hangs."""
        odd: list[BaseException] = []
        done: dict[int, int] = {}
        started = threading.Barrier(5)

        def work(n: int) -> None:
            line = Line(memory, f"t{n}")
            started.wait()
            try:
                while True:
                    line.put({"n": done.get(n, 0)})
                    done[n] = done.get(n, 0) + 1
                    line.write([("a", 1)])
                    line.get()
                    line.tuples(limit=2)
            except MemoryClosed:
                pass
            except BaseException as error:
                odd.append(error)

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
        for thread in threads:
            thread.start()
        started.wait()
        time.sleep(0.05)
        memory.close()
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)
        assert odd == []
        assert min(done.values()) > 0

    @needs("shared")
    def test_what_was_answered_before_a_close_is_stored(self, memory: Memory, store: Store) -> None:
        """Closing in the middle of other threads' work loses nothing that a call had returned for."""
        answered: list[str] = []

        def work(n: int) -> None:
            line = Line(memory, f"t{n}")
            try:
                while True:
                    answered.append(f"t{n} {line.put({'n': n})}")
            except MemoryClosed:
                pass

        threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.05)
        memory.close()
        for thread in threads:
            thread.join()
        again = store.open()
        found = {f"t{n} {at}" for n in range(3) for at in Line(again, f"t{n}").ids()}
        assert set(answered) <= found

    def test_closing_from_a_loop_while_tasks_wait(self, store: Store) -> None:
        """`aclose` lets what is queued finish; tasks that come later are told that the memory is closed."""

        async def main() -> list[Any]:
            memory = store.open()
            thread = memory.threads.get("t")
            early = [asyncio.create_task(thread.aappend(("user", f"{n}"))) for n in range(8)]
            await asyncio.sleep(0.01)
            await memory.aclose()
            late = [asyncio.create_task(thread.aappend(("user", f"{n}"))) for n in range(3)]
            return await asyncio.gather(*early, *late, return_exceptions=True)

        outcomes = asyncio.run(main())
        assert all(isinstance(outcome, MemoryClosed) for outcome in outcomes[8:])
        strange = [o for o in outcomes if isinstance(o, BaseException) and not isinstance(o, MemoryClosed)]
        assert strange == []

    @needs("forks")
    def test_a_fork_of_the_process(self, memory: Memory, store: Store, drive: Drive) -> None:
        """A memory works in a forked child too, beside the parent, which goes on as before."""
        line = Line(memory, drive=drive)
        line.put({"n": 0})
        line.tuples()
        drive(memory.threads.list)

        def child() -> list[int]:
            mine = Line(memory)
            found = [mine.load().checkpoint["channel_values"]["n"]]
            for n in range(1, 4):
                mine.put({"n": n})
            asyncio.run(memory.threads.get("c").aappend(("user", "from the child")))
            found.append(len(mine.tuples()))
            memory.close()
            return found

        assert in_child(child) == [0, 4]
        assert line.load().checkpoint["channel_values"] == {"n": 3}
        line.put({"n": 4})
        assert len(line.tuples()) == 5
        assert [m.text for m in drive(memory.threads.get("c").messages)] == ["from the child"]

    @needs("forks")
    def test_a_fork_with_something_queued(self, memory: Memory) -> None:
        """What the parent has queued is the parent's to store: the child waits for nothing and stores it not."""
        memory._engine.driver.linger = 0.3
        line = Line(memory, run=True)
        line.put({"n": 0})
        at = line.put({"__start__": 1}, source="input")

        def child() -> list[Any]:
            mine = Line(memory, run=True)
            found = [mine.load().checkpoint["channel_values"], len(mine.tuples())]
            memory.close()
            return found

        assert in_child(child) == [{"n": 0}, 1]
        assert line.ids()[0] == at

    @needs("forks")
    def test_a_fork_while_threads_write(self, memory: Memory) -> None:
        """A child forked in the middle of the parent's writes works, and the parent loses nothing."""
        stop = threading.Event()
        made: list[str] = []

        def write() -> None:
            line = Line(memory, "parent")
            while not stop.is_set():
                made.append(line.put({"n": len(made)}))

        thread = threading.Thread(target=write)
        thread.start()
        try:
            for n in range(5):
                time.sleep(0.01)

                def child(n: int = n) -> int:
                    line = Line(memory, f"child {n}")
                    for i in range(3):
                        line.put({"n": i})
                    return len(line.tuples())

                assert in_child(child) == 3
        finally:
            stop.set()
            thread.join()
        assert Line(memory, "parent").ids() == made[::-1]
        assert [len(Line(memory, f"child {n}").ids()) for n in range(5)] == [3] * 5

    @needs("processes")
    def test_many_processes_open_a_new_storage_at_once(self, store: Store) -> None:
        """Ten processes that open the same new storage at the same moment all succeed."""
        ready, go = os.pipe(), os.pipe()

        def child(n: int) -> int:
            os.write(ready[1], b"x")
            os.read(go[0], 1)
            memory = self.open(store.place)
            memory.threads.get(f"t{n}").append(("user", "x"))
            memory.close()
            return n

        children = [partial(child, n) for n in range(10)]
        assert in_child(*children, before_wait=lambda: _release(ready[0], go[1], 10)) == list(range(10))
        for end in (*ready, *go):
            os.close(end)
        assert len(store.open().threads.list(limit=20)) == 10

    @needs("shared")
    def test_many_threads_open_a_new_storage_at_once(self, store: Store) -> None:
        """So do many threads of one process."""
        opened: list[Memory] = []
        barrier = threading.Barrier(8)

        def work() -> None:
            barrier.wait()
            opened.append(store.open())

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for n, memory in enumerate(opened):
            memory.threads.get(f"t{n}").append(("user", "x"))
        assert [len(memory.threads.list()) for memory in opened] == [8] * 8

    def test_errors_are_one_readable_line(self, memory: Memory, drive: Drive) -> None:
        """Whatever Threadkeep raises on purpose is one line with the thread's id and what to do."""
        seen = 0
        for call in calls(memory, drive):
            try:
                call()
            except ThreadkeepError as error:
                seen += 1
                assert "\n" not in str(error)
                assert 20 < len(str(error)) < 400
                assert "'t'" in str(error)
        assert seen > 5


def _release(ready: int, go: int, count: int) -> None:
    got = 0
    while got < count:
        got += len(os.read(ready, count))
    os.write(go, b"x" * count)
