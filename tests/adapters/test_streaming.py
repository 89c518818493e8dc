"""Streaming and batch: a checkpointer changes nothing that a caller sees."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from langchain.agents import create_agent
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, StateGraph

from .kit import Drive, Log, echo, human, texts, thread, tool_user


@tool
def weather(city: str) -> str:
    """Weather."""
    get_stream_writer()(f"looking at {city}")
    return f"rain in {city}"


def agent_with(saver: Any) -> Any:
    return create_agent(tool_user("weather", city="Kyiv"), [weather], checkpointer=saver)


def test_values_and_updates(saver: Any, drive: Drive) -> None:
    agent = agent_with(saver)
    values = drive(agent.stream, human("?"), thread("v"), stream_mode="values")
    assert [len(chunk["messages"]) for chunk in values] == [1, 2, 3, 4]
    updates = drive(agent.stream, human("?"), thread("u"), stream_mode="updates")
    assert [list(chunk) for chunk in updates] == [["model"], ["tools"], ["model"]]
    assert texts(drive(agent.get_state, thread("v")).values["messages"]) == texts(
        drive(agent.get_state, thread("u")).values["messages"]
    )


def test_messages_and_custom(saver: Any, drive: Drive) -> None:
    agent = agent_with(saver)
    chunks = drive(agent.stream, human("?"), thread(), stream_mode=["messages", "custom"])
    assert [c for mode, c in chunks if mode == "custom"] == ["looking at Kyiv"]
    streamed = [chunk[0] for mode, chunk in chunks if mode == "messages"]
    stored = drive(agent.get_state, thread()).values["messages"]
    assert [m.id for m in streamed if m.text] == [m.id for m in stored[1:] if m.text]
    # A second turn streams only what is new.
    again = drive(agent.stream, human("?"), thread(), stream_mode="messages")
    assert len(again) == len(streamed)


def test_checkpoints_tasks_and_debug(saver: Any, drive: Drive) -> None:
    agent = agent_with(saver)
    modes = ["checkpoints", "tasks", "debug"]
    chunks = drive(agent.stream, human("?"), thread(), stream_mode=modes)
    seen = [c for mode, c in chunks if mode == "checkpoints"]
    assert [c["metadata"]["step"] for c in seen] == [-1, 0, 1, 2, 3]
    ids = [c["config"]["configurable"]["checkpoint_id"] for c in seen]
    stored = drive(saver.list, thread())
    assert ids == [t.checkpoint["id"] for t in reversed(stored)]
    names = [c["name"] for mode, c in chunks if mode == "tasks" and "input" in c]
    assert names == ["model", "tools", "model"]
    kinds = {c["type"] for mode, c in chunks if mode == "debug"}
    assert kinds == {"checkpoint", "task", "task_result"}


def test_streaming_subgraphs(saver: Any, drive: Drive) -> None:
    inner = StateGraph(Log)
    inner.add_node("in", lambda state: {"log": ["in"]})
    inner.add_edge(START, "in")
    outer = StateGraph(Log)
    outer.add_node("sub", inner.compile())
    outer.add_edge(START, "sub")
    graph = outer.compile(checkpointer=saver)
    chunks = drive(graph.stream, {"log": []}, thread(), stream_mode="updates", subgraphs=True)
    assert [(len(namespace), list(chunk)) for namespace, chunk in chunks] == [(1, ["in"]), (0, ["sub"])]


def test_the_state_is_readable_while_a_run_streams(saver: Any) -> None:
    agent = agent_with(saver)
    seen = []
    for _ in agent.stream(human("?"), thread(), stream_mode="values", durability="sync"):
        seen.append(len(agent.get_state(thread()).values.get("messages", [])))
    assert seen == sorted(seen)
    assert seen[-1] >= 3
    assert len(agent.get_state(thread()).values["messages"]) == 4


def test_batch_over_many_threads(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    names = [f"thread {n}" for n in range(12)]
    for turn in (1, 3):
        inputs = [human(f"{name} turn {turn}") for name in names]
        results = drive(agent.batch, inputs, [thread(name) for name in names])
        assert [r["messages"][-1].text for r in results] == [f"{turn}: {n} turn {turn}" for n in names]
    for name in names:
        messages = drive(agent.get_state, thread(name)).values["messages"]
        assert texts(messages)[0::2] == [f"{name} turn 1", f"{name} turn 3"]


def test_many_threads_at_once(saver: Any) -> None:
    agent = create_agent(echo(), checkpointer=saver)

    def converse(name: str) -> list[str]:
        for turn in range(3):
            agent.invoke(human(f"{name}/{turn}"), thread(name))
        return texts(agent.get_state(thread(name)).values["messages"])

    names = [f"t{n}" for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(converse, names))
    for name, messages in zip(names, outcomes, strict=True):
        assert messages == [
            text for turn in range(3) for text in (f"{name}/{turn}", f"{2 * turn + 1}: {name}/{turn}")
        ]


def test_many_threads_on_one_loop(saver: Any) -> None:
    agent = create_agent(echo(), checkpointer=saver)

    async def converse(name: str) -> list[str]:
        for turn in range(3):
            await agent.ainvoke(human(f"{name}/{turn}"), thread(name))
        return texts((await agent.aget_state(thread(name))).values["messages"])

    async def main() -> list[list[str]]:
        return await asyncio.gather(*(converse(f"t{n}") for n in range(8)))

    for n, messages in enumerate(asyncio.run(main())):
        assert messages[0::2] == [f"t{n}/{turn}" for turn in range(3)]
        assert len(messages) == 6


def test_several_loops_and_the_sync_side_at_once(saver: Any) -> None:
    agent = create_agent(echo(), checkpointer=saver)

    def on_a_loop(name: str) -> int:
        async def main() -> int:
            for turn in range(3):
                await agent.ainvoke(human(str(turn)), thread(name))
            return len((await agent.aget_state(thread(name))).values["messages"])

        return asyncio.run(main())

    def plainly(name: str) -> int:
        for turn in range(3):
            agent.invoke(human(str(turn)), thread(name))
        return len(agent.get_state(thread(name)).values["messages"])

    with ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(on_a_loop if n % 2 else plainly, f"t{n}") for n in range(6)]
        assert [job.result() for job in jobs] == [6] * 6
    # A loop that is long closed has left nothing behind that a new one trips over.
    assert on_a_loop("t0") == 12


def test_sync_methods_on_the_loops_own_thread(saver: Any) -> None:
    agent = create_agent(echo(), checkpointer=saver)

    async def main() -> list[str]:
        agent.invoke(human("sync"), thread())
        await agent.ainvoke(human("async"), thread())
        agent.update_state(thread(), human("update"))
        return texts(agent.get_state(thread()).values["messages"])

    assert asyncio.run(main()) == ["sync", "1: sync", "async", "3: async", "update"]


def test_a_sync_node_calls_the_saver_while_the_loop_runs(saver: Any) -> None:
    counts: list[int] = []

    def look(state: Log) -> dict[str, Any]:
        counts.append(len(list(saver.list(thread()))))
        return {"log": ["x"]}

    graph = StateGraph(Log)
    graph.add_node("one", look)
    graph.add_node("two", look)
    graph.add_edge(START, "one")
    graph.add_edge("one", "two")
    app = graph.compile(checkpointer=saver)
    asyncio.run(app.ainvoke({"log": []}, thread(), durability="sync"))
    assert counts[1] >= 2
