"""Processes that write to a database until they are killed, and tell over a pipe what they were promised.

Each line they send is one JSON list. A line that names something stored is sent after the call that
stored it has returned, never before: what the other end has read must be found after any kill.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import threadkeep
from tests.faults import agents
from threadkeep import Memory
from threadkeep.adapters.langgraph import Checkpointer

Say = Callable[..., None]


class Telling(Checkpointer):
    """The checkpointer, telling what it has stored."""

    say: Say

    @classmethod
    def of(cls, memory: Memory, say: Say) -> Telling:
        made = cls(memory._engine, memory.owner)
        made.say = say
        return made

    def _told(self, config: Any, checkpoint: Any, metadata: Any) -> None:
        # The input of a run is queued when put returns, and promised by the put after it.
        kind = "queued" if metadata.get("source") == "input" else "put"
        messages = len(checkpoint["channel_values"].get("messages", ()))
        self.say(kind, str(config["configurable"]["thread_id"]), checkpoint["id"], messages)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.say("begin")
        result = super().put(config, checkpoint, metadata, new_versions)
        self._told(config, checkpoint, metadata)
        return result

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.say("begin")
        result = await super().aput(config, checkpoint, metadata, new_versions)
        self._told(config, checkpoint, metadata)
        return result

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.say("begin")
        super().put_writes(config, writes, task_id, task_path)
        self._told_writes(config, writes, task_id)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.say("begin")
        await super().aput_writes(config, writes, task_id, task_path)
        self._told_writes(config, writes, task_id)

    def _told_writes(self, config: Any, writes: Any, task_id: str) -> None:
        conf = config["configurable"]
        names = [channel for channel, _ in writes]
        self.say("writes", str(conf["thread_id"]), conf["checkpoint_id"], task_id, names)


def agent_turns(memory: Memory, say: Say, thread: str, mode: str, turns: int | None = None) -> None:
    """Finish the turn that was left open, then take one after the other."""
    agent, config = agents.agent, agents.address(thread)
    agent.checkpointer = Telling.of(memory, say)
    taken = 0
    while turns is None or taken < turns:
        state = agent.get_state(config)
        number = agents.turns_in(state.values.get("messages", ())) + 1
        # A turn that was left open is finished first, whatever of it was stored.
        given = None if state.tasks else {"messages": [("human", agents.question(thread, number))]}
        if number % 2:
            result = agent.invoke(given, config, durability=mode)
        else:
            result = asyncio.run(agent.ainvoke(given, config, durability=mode))
        say("turn", thread, agents.turns_in(result["messages"]))
        taken += 1


def appends(memory: Memory, say: Say, thread: str, writer: str) -> None:
    """Append to a thread that others append to as well."""
    number = 0
    while True:
        number += 1
        say("begin")
        key = f"{writer}/{number}"
        memory.threads.get(thread).append({"role": "user", "content": agents.prose(key), "id": key})
        say("append", thread, writer, number)


def upkeep(memory: Memory, say: Say, writer: str) -> None:
    """Make threads, copy, prune and delete them."""
    number = 0
    while True:
        number += 1
        name = f"{writer}-{number}"
        thread = memory.threads.get(name)
        for part in (1, 2, 3):
            say("begin")
            thread.append(("user", agents.prose(f"{name}/{part}")))
            say("kept", name, name, part)
        say("begin")
        memory.threads.copy(name, name + "-copy")
        say("kept", name + "-copy", name, 3)
        say("begin")
        memory.threads.prune([name], strategy="keep_latest")
        say("pruned", name)
        if number % 2:
            say("deleting", name + "-copy")
            memory.threads.delete(name + "-copy")
            say("deleted", name + "-copy")
        say("deleting", name)
        thread.delete()
        say("deleted", name)
        if number % 3 == 0:
            say("begin")
            memory.compact()


ROLES: dict[str, Callable[..., None]] = {"agent": agent_turns, "append": appends, "upkeep": upkeep}


class Writer:
    """A forked writer, from the parent's side."""

    def __init__(self, url: str, role: str, *args: Any) -> None:
        self.role = role
        self.args = args
        self.heard: list[list[Any]] = []
        self.pipe, writing = os.pipe()
        self.dead = False
        self._rest = b""
        self.started = time.monotonic()
        with warnings.catch_warnings():
            # The parent may have threads; the child uses nothing of theirs.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            _run(url, writing, role, args)
        os.close(writing)

    def hear(self) -> bool:
        """Read what has come; return False at the end."""
        data = os.read(self.pipe, 65536)
        *whole, self._rest = (self._rest + data).split(b"\n")
        self.heard += [json.loads(line) for line in whole]
        return bool(data)

    def kill(self) -> int:
        """Kill the process and hear it out; return its status."""
        self.dead = True
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        while self.hear():
            pass
        os.close(self.pipe)
        return status


def _run(url: str, pipe: int, role: str, args: tuple[Any, ...]) -> None:
    def say(*line: Any) -> None:
        os.write(pipe, json.dumps(line).encode() + b"\n")

    try:
        random.seed()
        agents.ran.clear()
        memory = threadkeep.open(url)
        say("opened")
        ROLES[role](memory, say, *args)
    except BaseException:
        say("error", traceback.format_exc())
        time.sleep(60)
    finally:
        os._exit(1)
