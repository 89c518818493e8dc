"""Savers to compare, each behind a lane: one agent on one thread, played turn by turn, sync or async."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

from bench.floor import FloorSaver
from bench.scenario import Script, agent

PREFILL_STEP = 20

FLOOR = "floor"
THREADKEEP = "threadkeep sqlite"
THREADKEEP_MEMORY = "threadkeep memory://"
SQLITE = "SqliteSaver"
SQLITE_DELTA = "SqliteSaver DeltaChannel(50)"
IN_MEMORY = "InMemorySaver"


class Loop:
    """One event loop for all the async lanes of a measure."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def run(self, coroutine: Any) -> Any:
        """Run a coroutine to its end on this loop."""
        return self._loop.run_until_complete(coroutine)

    def close(self) -> None:
        """Stop the loop."""
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is played: the conversation, the graph, and a loop when it is played by `ainvoke`."""

    seed: str
    build: Callable[[Script, Any], Any] = agent
    loop: Loop | None = None
    shape: str = "plain"
    thread_id: str = ""

    def delta(self) -> Plan:
        """Return the same plan with LangGraph's DeltaChannel for the messages."""
        return replace(self, build=lambda script, saver: agent(script, saver, delta=True))


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A saver with what belongs to it; `close` gives its files their final size."""

    saver: Any
    close: Callable[[], object] = lambda: None
    path: Path | None = None
    memory: Any = None


class Lane:
    """An agent on a saver and a thread of its own. `turns` counts what has been played."""

    def __init__(self, name: str, plan: Plan, opened: Opened) -> None:
        self.name = name
        self.path = opened.path
        self.memory = opened.memory
        self.script = Script(plan.seed, plan.shape)
        self.graph = plan.build(self.script, opened.saver)
        self.config: Any = {"configurable": {"thread_id": plan.thread_id or f"bench-{uuid.uuid4().hex[:8]}"}}
        self.turns = 0
        self.close = opened.close
        self._loop = plan.loop

    def ready(self, question: HumanMessage | None = None) -> None:
        """Make the next turn's texts, so that playing it does not pay for them; perhaps another question."""
        scripted = self.script.select(self.turns)
        self._input = {"messages": [question or scripted]}

    def play(self) -> None:
        """Play the turn that `ready` selected (this is what is timed)."""
        if self._loop is None:
            self.graph.invoke(self._input, self.config, durability="sync")
        else:
            self._loop.run(self.graph.ainvoke(self._input, self.config, durability="sync"))
        self.turns += 1

    def live(self, until: int, progress: Callable[[int], object] = lambda turns: None) -> None:
        """Play turns one by one, untimed, until the thread holds `until`."""
        while self.turns < until:
            self.ready()
            self.play()
            progress(self.turns)

    def prefill(self, until: int, step: int = PREFILL_STEP) -> None:
        """Add turns by `update_state`, `step` turns to a checkpoint, until the thread holds `until`."""
        while self.turns < until:
            end = min(until, self.turns + step)
            messages = [m for number in range(self.turns, end) for m in self.script.messages(number)]
            self._update({"messages": messages})
            self.turns = end

    def _update(self, values: dict[str, Any]) -> None:
        if self._loop is None:
            self.graph.update_state(self.config, values, as_node="model")
        else:
            self._loop.run(self.graph.aupdate_state(self.config, values, as_node="model"))


def floor(plan: Plan) -> Lane:
    """A lane that stores nothing."""
    return Lane(FLOOR, plan, Opened(saver=FloorSaver()))


def threadkeep(path: Path | None, plan: Plan) -> Lane:
    """A Threadkeep lane on a SQLite file, or in memory without a path."""
    import threadkeep as package

    memory = package.open(f"sqlite:///{path}" if path else "memory://")
    opened = Opened(saver=memory.checkpointer, close=memory.close, path=path, memory=memory)
    return Lane(THREADKEEP if path else THREADKEEP_MEMORY, plan, opened)


def sqlite(path: Path, plan: Plan) -> Lane:
    """A lane on LangGraph's SqliteSaver, or on AsyncSqliteSaver where there is a loop."""
    return Lane(SQLITE, plan, _open_async(path, plan.loop) if plan.loop else _open_sync(path))


def sqlite_delta(path: Path, plan: Plan) -> Lane:
    """A lane on LangGraph's saver with a DeltaChannel, which stores a full list every 50 updates."""
    return Lane(SQLITE_DELTA, plan.delta(), _open_async(path, plan.loop) if plan.loop else _open_sync(path))


def in_memory(plan: Plan) -> Lane:
    """A lane on LangGraph's InMemorySaver."""
    from langgraph.checkpoint.memory import InMemorySaver

    return Lane(IN_MEMORY, plan, Opened(saver=InMemorySaver()))


def _open_sync(path: Path) -> Opened:
    from langgraph.checkpoint.sqlite import SqliteSaver

    connection = sqlite3.connect(path, check_same_thread=False)
    return Opened(saver=SqliteSaver(connection), close=connection.close, path=path)


def _open_async(path: Path, loop: Loop) -> Opened:
    import aiosqlite
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async def start() -> tuple[Any, Any]:
        connection = await aiosqlite.connect(str(path))
        return connection, AsyncSqliteSaver(connection)

    connection, saver = loop.run(start())
    return Opened(saver=saver, close=lambda: loop.run(connection.close()), path=path)


def disk_bytes(path: Path) -> int:
    """Bytes of a SQLite database with its WAL and shared-memory files."""
    files = (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm"))
    return sum(file.stat().st_size for file in files if file.exists())
