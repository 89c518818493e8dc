"""Where a model call takes place: thread, run and checkpointer, as far as they are known."""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config

from threadkeep.adapters.agents.notes import Notes, thread_of
from threadkeep.adapters.langgraph import Checkpointer
from threadkeep.context.planning.history import content_digest
from threadkeep.memory import Memory
from threadkeep.thread import Thread

_CHECKPOINTER: Final = "__pregel_checkpointer"
"""Where LangGraph keeps the checkpointer of a run; there is no public way to it."""

_RUNS: Final = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One run's place.

    Attributes:
        key: Stands for the conversation within this process.
        thread: The thread's handle, None without a thread id or without a memory of ours.
        run_id: The run's id.
        saver: The checkpointer of the run, whose ever it is.
        namespace: The graph's checkpoint namespace, empty for an agent that is no part of another graph.
        checkpoint_id: The checkpoint that the call starts from.
        thread_id: The thread's id, None without a checkpointer.
    """

    key: Hashable
    thread: Thread | None
    run_id: str
    saver: BaseCheckpointSaver[Any] | None
    namespace: str
    checkpoint_id: str | None
    thread_id: str | None

    @property
    def record(self) -> Thread | None:
        """The thread, where its transcript is this agent's: not that of an agent within which this one runs."""
        return self.thread if not self.namespace else None

    @property
    def notes(self) -> Notes | None:
        """The thread's notes."""
        return None if self.thread is None else Notes(self.thread)


class Runs:
    """The ids of the runs that are on their way: LangGraph names a run only where its caller did."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[int, tuple[Any, str]] = OrderedDict()

    def id_of(self, control: Any) -> str:
        """Return the id of the run that an object of its own stands for; without one, an id of this call."""
        if control is None:
            return uuid.uuid4().hex
        with self._lock:
            known = self._known.get(id(control))
            if known is None or known[0] is not control:
                # The object is kept, so that its identity stays its own.
                known = self._known[id(control)] = control, uuid.uuid4().hex
            self._known.move_to_end(id(control))
            while len(self._known) > _RUNS:
                self._known.popitem(last=False)
            return known[1]


_runs: Final = Runs()
"""One for the process: a run may go through several agents, each with a middleware of its own."""


def place_of(runtime: Any, memory: Memory | None, messages: Sequence[BaseMessage] = ()) -> Place:
    """Return where a call with this runtime takes place.

    Args:
        runtime: LangGraph's, of a node or a tool.
        memory: The memory that the middleware was given. The run's own checkpointer counts first where it is ours, for
            it says whose thread it is.
        messages: The state's messages, to tell conversations without a thread id apart.
    """
    configurable = _configurable(runtime)
    info = getattr(runtime, "execution_info", None)
    saver = configurable.get(_CHECKPOINTER)
    given = getattr(info, "thread_id", None) or configurable.get("thread_id")
    thread_id = None if given is None else str(given)
    ours = saver if isinstance(saver, Checkpointer) else memory.checkpointer if memory is not None else None
    thread = thread_of(ours, thread_id) if ours is not None and thread_id is not None else None
    keeper = thread._engine if thread is not None else saver
    path = getattr(info, "checkpoint_ns", None) or configurable.get("checkpoint_ns") or ""
    namespace = path.rpartition("|")[0]
    run_id = getattr(info, "run_id", None) or _runs.id_of(getattr(runtime, "control", None))
    return Place(
        key=(keeper, thread.owner if thread else "", thread_id or _first(messages), _bare(namespace)),
        thread=thread,
        run_id=str(run_id),
        saver=saver if isinstance(saver, BaseCheckpointSaver) else None,
        namespace=namespace,
        checkpoint_id=getattr(info, "checkpoint_id", None) or configurable.get("checkpoint_id"),
        thread_id=thread_id,
    )  # fmt: skip


def _configurable(runtime: Any) -> dict[str, Any]:
    config = getattr(runtime, "config", None)
    if config is None:
        try:
            config = get_config()
        except RuntimeError:  # outside a graph
            return {}
    return dict(config.get("configurable") or {})


def _first(messages: Sequence[BaseMessage]) -> bytes:
    return content_digest(messages[0]) if messages else b""


def _bare(namespace: str) -> str:
    """Return a namespace without the ids of the tasks, which differ from run to run."""
    return "|".join(part.partition(":")[0] for part in namespace.split("|"))
