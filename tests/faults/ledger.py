"""What killed writers were promised, and whether the database keeps it."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from typing import Any

import threadkeep
from tests.faults import agents
from threadkeep import Memory


class Ledger:
    """The promises made to all writers of one database."""

    def __init__(self, url: str, mode: str) -> None:
        self.url = url
        self.mode = mode
        self.turns: dict[str, int] = defaultdict(int)
        self.appended: dict[str, dict[str, int]] = defaultdict(dict)
        self.kept: dict[str, tuple[str, int]] = {}
        self.deleting: set[str] = set()
        self.deleted: set[str] = set()
        self.promises = 0
        self.reused = 0

    def enter(self, heard: list[list[Any]]) -> None:
        """Note what one writer was promised."""
        for kind, *rest in heard:
            assert kind != "error", rest[0]
            if kind == "turn":
                self.turns[rest[0]] = max(self.turns[rest[0]], rest[1])
            elif kind == "append":
                self.appended[rest[0]][rest[1]] = rest[2]
            elif kind == "kept":
                self.kept[rest[0]] = (rest[1], rest[2])
            elif kind == "deleting":
                self.deleting.add(rest[0])
            elif kind == "deleted":
                self.deleted.add(rest[0])
            self.promises += kind in ("put", "writes", "append", "kept", "pruned", "deleted")

    def check_one(self, thread: str, heard: list[list[Any]]) -> None:
        """Look, while other writers go on, whether a writer that was just killed lost anything."""
        with threadkeep.open(self.url) as memory:
            self._check_doctor(memory, thread)
            for kind, *rest in heard:
                if kind == "put":
                    self._check_put(memory, *rest)
                elif kind == "writes":
                    self._check_writes(memory, *rest)

    def _check_doctor(self, memory: Memory, thread: str | None = None) -> None:
        if thread is not None and not memory.threads.get(thread).exists():
            return
        problems = memory.doctor(thread)
        assert problems == (), problems

    def _check_put(self, memory: Memory, thread: str, checkpoint: str, count: int) -> None:
        found = memory.checkpointer.get_tuple(_at(thread, checkpoint))
        assert found is not None, f"checkpoint {checkpoint} of {thread!r} was stored and is gone"
        messages = found.checkpoint["channel_values"].get("messages", [])
        assert len(messages) == count
        _check_lines(thread, agents.lines(messages))

    def _check_writes(
        self, memory: Memory, thread: str, checkpoint: str, task: str, channels: list[str]
    ) -> None:
        found = memory.checkpointer.get_tuple(_at(thread, checkpoint))
        if found is None:
            # Writes may be stored before their own checkpoint is.
            return
        stored = [channel for task_id, channel, _ in found.pending_writes or [] if task_id == task]
        assert sorted(stored) == sorted(channels), f"writes of {task} at {checkpoint} of {thread!r}"

    def check(self, rng: random.Random, *, turn_on: str | None = None) -> None:
        """Check everything that was ever promised, then take one more turn on a thread."""
        with threadkeep.open(self.url) as memory:
            self._check_doctor(memory)
            for thread in self.turns:
                self.check_agent(memory, thread)
            for thread, writers in self.appended.items():
                self._check_appended(memory, thread, writers)
            for thread, (text, parts) in self.kept.items():
                self._check_kept(memory, thread, text, parts)
            if turn_on is not None:
                self._go_on(memory, turn_on, asynchronous=rng.random() < 0.5)
                self._check_doctor(memory, turn_on)

    def check_agent(self, memory: Memory, thread: str) -> None:
        """Check an agent's thread: the turns that were promised, at most one more, and no torn one."""
        agents.agent.checkpointer = memory.checkpointer
        state = agents.agent.get_state(agents.address(thread))
        # `state.values` holds results that are stored while their superstep is not, and `state.next` leaves
        # such tasks out.
        stored = memory.checkpointer.get_tuple(agents.address(thread))
        found = agents.lines(stored.checkpoint["channel_values"].get("messages", []) if stored else [])
        begun = _check_lines(thread, found)
        _check_lines(thread, agents.lines(state.values.get("messages", [])))
        turns, whole = self.turns[thread], begun if not state.tasks else len(found) // 5
        assert turns <= whole <= begun <= turns + 1, f"{thread!r}: {whole} of {turns} turns are there"
        if self.mode == "exit" or not state.tasks:
            assert len(found) == begun * 5
        if memory.threads.get(thread).exists():
            record = agents.lines(memory.threads.get(thread).messages())
            assert record == found
        # What has been seen may not go either.
        self.turns[thread] = whole

    def _check_appended(self, memory: Memory, thread: str, writers: dict[str, int]) -> None:
        messages = memory.threads.get(thread).messages()
        assert len({m.id for m in messages}) == len(messages)
        seen: dict[str, int] = defaultdict(int)
        for message in messages:
            writer, number = str(message.id).split("/")
            assert message.text == agents.prose(str(message.id))
            assert int(number) == seen[writer] + 1, f"{message.id} follows {seen[writer]}"
            seen[writer] += 1
        for writer, number in writers.items():
            assert number <= seen[writer] <= number + 1, f"{writer}: {seen[writer]} of {number} are there"

    def _check_kept(self, memory: Memory, thread: str, text: str, parts: int) -> None:
        handle = memory.threads.get(thread)
        if thread in self.deleted:
            assert not handle.exists()
        elif handle.exists() or thread not in self.deleting:
            found = [m.text for m in handle.messages()]
            assert parts <= len(found) <= parts + 1
            assert found == [agents.prose(f"{text}/{n}") for n in range(1, len(found) + 1)]

    def _go_on(self, memory: Memory, thread: str, *, asynchronous: bool) -> None:
        """Finish the turn that a kill left open, without running again what had finished; take another."""
        agent, config = agents.agent, agents.address(thread)
        agent.checkpointer = memory.checkpointer
        state = agent.get_state(config)
        if state.tasks:
            found = memory.checkpointer.get_tuple(config)
            finished = {task_id for task_id, _, _ in found.pending_writes or []}
            tools = [task for task in state.tasks if task.name == "tools"]
            left = [task for task in tools if task.id not in finished]
            stored = found.checkpoint["channel_values"].get("messages", [])
            done = bool(stored) and stored[-1].type == "tool"
            agents.ran.clear()
            _invoke(agent, None, config, self.mode, asynchronous)
            assert len(agents.ran) == (len(left) if tools or done else 2)
            self.reused += len(tools) - len(left)
        turns = agents.turns_in(agent.get_state(config).values.get("messages", ())) + 1
        given = {"messages": [("human", agents.question(thread, turns))]}
        _invoke(agent, given, config, self.mode, asynchronous)
        self.turns[thread] = turns
        self.check_agent(memory, thread)


def _invoke(agent: Any, given: Any, config: Any, mode: str, asynchronous: bool) -> None:
    if asynchronous:
        asyncio.run(agent.ainvoke(given, config, durability=mode))
    else:
        agent.invoke(given, config, durability=mode)


def _check_lines(thread: str, found: list[tuple[str, str]]) -> int:
    """Check that a thread's messages are whole turns, the last one perhaps begun; return how many."""
    begun = sum(kind == "human" for kind, _ in found)
    assert found == agents.expected(thread, begun)[: len(found)], f"{thread!r} holds something else"
    return begun


def _at(thread: str, checkpoint: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": checkpoint}}
