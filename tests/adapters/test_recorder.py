"""The recorder: one row for each call to a provider, however it is made and however it ends."""

from __future__ import annotations

import asyncio
import random
import threading
import warnings
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelRetryMiddleware
from langchain_core.caches import InMemoryCache
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

import threadkeep
from threadkeep import BudgetExceeded, LedgerWarning, Memory
from threadkeep.adapters.agents.notes import Notes
from threadkeep.adapters.agents.recorder import recording
from threadkeep.context.budget import Budget
from threadkeep.testing.models import Reporting

ASKED = [SystemMessage("Be kind."), HumanMessage("hello", id="h")]


class Recording(AgentMiddleware[Any, Any]):
    """Records an agent's model calls, as a policy's middleware does."""

    def __init__(self, memory: Memory, name: str = "t") -> None:
        super().__init__()
        self.thread = memory.threads.get(name)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Any) -> Any:
        with recording(self.thread, source=request.messages, reasons=["kept"] * len(request.messages)):
            return handler(request)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: Any) -> Any:
        async with recording(self.thread, source=request.messages, reasons=["kept"] * len(request.messages)):
            return await handler(request)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with threadkeep.open("memory://") as memory:
        yield memory
        assert memory.doctor() == ()


def rows(memory: Memory, name: str = "t") -> list[tuple[str, int | None]]:
    return [(call.status, call.input_tokens) for call in memory.threads.get(name).calls()]


def config(name: str = "t") -> Any:
    return {"configurable": {"thread_id": name}}


async def _drain(stream: Any) -> None:
    async for _ in stream:
        pass


WAYS: dict[str, Any] = {
    "invoke": lambda model: model.invoke(ASKED),
    "stream": lambda model: list(model.stream(ASKED)),
    "batch": lambda model: model.batch([ASKED]),
    "ainvoke": lambda model: asyncio.run(model.ainvoke(ASKED)),
    "astream": lambda model: asyncio.run(_drain(model.astream(ASKED))),
    "in a chain": lambda model: (RunnableLambda(lambda text: ASKED) | model).invoke("x"),
    "in a loop of its own": lambda model: asyncio.run(
        (RunnableLambda(lambda text: ASKED) | model).ainvoke("x")
    ),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_every_way_to_call_a_model_is_one_row(memory: Memory, way: str) -> None:
    model = Reporting(provider="openai")
    with recording(memory.threads.get("t"), run_id="r"):
        WAYS[way](model)
        WAYS[way](model)
    assert rows(memory) == [("finished", 100)] * 2
    call = memory.threads.get("t").call(2)
    assert [m.text for m in call.messages or ()] == ["Be kind.", "hello"]
    found = call.call
    assert (found.model, found.provider, found.cache_read_tokens, found.run_id) == (
        "gpt-5-mini",
        "openai",
        40,
        "r",
    )
    assert (found.cache_write_tokens, found.source, found.purpose) == (None, "recorder", "answer")
    assert found.price is not None and found.price > 0


def test_retries_inside_and_outside_and_fallbacks(memory: Memory) -> None:
    thread = memory.threads.get("t")
    with recording(thread):
        Reporting(fails=2).with_retry(stop_after_attempt=3, wait_exponential_jitter=False).invoke(ASKED)
    assert rows(memory) == [("failed", None)] * 2 + [("finished", 100)]
    with recording(thread):
        Reporting(fails=9, name="a").with_fallbacks([Reporting(name="b")]).invoke(ASKED)
    assert [(c.model, c.status, c.error) for c in thread.calls()[3:]] == [
        ("a", "failed", "RuntimeError"),
        ("b", "finished", None),
    ]
    agent = create_agent(
        Reporting(fails=1),
        [],
        middleware=[ModelRetryMiddleware(max_retries=2, initial_delay=0), Recording(memory, "u")],
        checkpointer=memory.checkpointer,
    )
    agent.invoke({"messages": [HumanMessage("q")]}, config("u"))
    assert rows(memory, "u") == [("failed", None), ("finished", 100)]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_an_agents_answers_are_not_counted_twice(memory: Memory, asynchronous: bool, durability: Any) -> None:
    agent = create_agent(
        Reporting(),
        [],
        system_prompt="Be kind.",
        middleware=[Recording(memory)],
        checkpointer=memory.checkpointer,
    )
    for n in range(3):
        given: Any = {"messages": [HumanMessage(f"q{n}")]}
        if asynchronous:
            asyncio.run(agent.ainvoke(given, config(), durability=durability))
        else:
            agent.invoke(given, config(), durability=durability)
    thread = memory.threads.get("t")
    assert [call.source for call in thread.calls()] == ["recorder"] * 3
    assert [call.message_id for call in thread.calls()] == [m.id for m in thread.messages() if m.type == "ai"]
    assert (thread.usage().input_tokens, memory.usage().input_tokens) == (300, 300)
    found = thread.call(3)
    assert [m.text for m in found.messages or ()] == ["Be kind.", "q0", "answer 1", "q1", "answer 2", "q2"]
    assert [(r.position, r.message.text, r.text) for r in found.reasons][-1] == (5, "q2", "kept")


def test_what_is_sent_is_not_stored_again(memory: Memory) -> None:
    """A long conversation's calls add a system prompt, once, and a few bytes each, however long it is."""
    sizes = {}
    for recorded in (False, True):
        name = f"{recorded}"
        middleware = [Recording(memory, name)] if recorded else []
        agent = create_agent(
            Reporting(),
            [],
            system_prompt="Be kind. " * 50,
            middleware=middleware,
            checkpointer=memory.checkpointer,
        )
        dice = random.Random(1)
        for _ in range(40):
            agent.invoke({"messages": [HumanMessage(dice.randbytes(400).hex())]}, config(name))
        sizes[recorded] = memory.threads.stats(name).tables
    assert sizes[True]["contents"].bytes < sizes[False]["contents"].bytes + 1500
    assert sizes[True]["sequences"].bytes - sizes[False]["sequences"].bytes < 40 * 40
    assert sizes[True]["calls"].bytes < 40 * 150


def test_a_subagents_calls_are_counted_once_each(memory: Memory) -> None:
    inner = create_agent(Reporting(), [], middleware=[Recording(memory)])

    @tool
    def ask(question: str) -> str:
        """Ask the other agent."""
        return str(inner.invoke({"messages": [HumanMessage(question)]})["messages"][-1].text)

    replies = iter([
        AIMessage("", tool_calls=[{"name": "ask", "args": {"question": "why"}, "id": "c"}]),
        AIMessage("because"),
    ])  # fmt: skip

    class Outer(Reporting):
        def _answer(self) -> AIMessage:
            said = super()._answer()
            reply = next(replies)
            return said.model_copy(update={"content": reply.content, "tool_calls": reply.tool_calls})

    agent = create_agent(Outer(), [ask], middleware=[Recording(memory)], checkpointer=memory.checkpointer)
    with recording(memory.threads.get("t"), purpose="extraction"):
        agent.invoke({"messages": [HumanMessage("q")]}, config())
    assert [(c.status, c.purpose) for c in memory.threads.get("t").calls()] == [("finished", "answer")] * 3


def test_a_cancelled_call_is_a_row_with_unknown_tokens(memory: Memory) -> None:
    thread = memory.threads.get("t")

    async def invoke() -> None:
        async with recording(thread):
            await Reporting(delay=30).ainvoke(ASKED)

    async def stream() -> None:
        async with recording(thread):
            await _drain(Reporting(delay=30).astream(ASKED))

    async def main() -> None:
        for call in (invoke, stream):
            task = asyncio.create_task(call())
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    with recording(thread):
        for _ in Reporting().stream(ASKED):
            break
    assert rows(memory) == [("cancelled", None)] * 3
    assert [m.text for m in thread.call(1).messages or ()] == ["Be kind.", "hello"]


def test_a_hit_of_langchains_cache_is_seen_and_not_summed(memory: Memory) -> None:
    model = Reporting(provider="openai", cache=InMemoryCache())
    with recording(memory.threads.get("t")):
        model.invoke(ASKED)
        model.invoke(ASKED)
    calls = memory.threads.get("t").calls()
    assert [(c.purpose, c.input_tokens) for c in calls] == [("answer", 100), ("cached", 100)]
    assert calls[1].price == 0
    usage = memory.threads.get("t").usage()
    assert (usage.calls, usage.cached, usage.input_tokens, usage.price) == (1, 1, 100, calls[0].price)


def test_calls_at_once_from_threads_and_tasks(memory: Memory) -> None:
    def work(n: int) -> None:
        with recording(memory.threads.get(f"t{n % 3}")):
            Reporting(delay=0.002).batch([ASKED] * 4)

    async def main() -> None:
        async def one(n: int) -> None:
            async with recording(memory.threads.get(f"t{n % 3}")):
                await Reporting(delay=0.002).abatch([ASKED] * 4)

        await asyncio.gather(*map(one, range(6)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    asyncio.run(main())
    for thread in threads:
        thread.join()
    assert memory.usage().calls == 48
    for n in range(3):
        calls = memory.threads.get(f"t{n}").calls()
        assert [call.number for call in calls] == list(range(1, 17))
        assert len({call.call_id for call in calls}) == 16


def test_a_storage_that_fails_does_not_fail_the_call(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    closed = threadkeep.open("memory://")
    thread = closed.threads.get("t")
    closed.close()
    with pytest.warns(LedgerWarning, match="thread 't' could not be recorded"), recording(thread):
        assert Reporting().invoke(ASKED).text == "answer 1"
    assert "was not recorded" in caplog.text


def test_what_cannot_be_stored_leaves_the_row(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    odd = HumanMessage("x", additional_kwargs={"odd": object()})
    with warnings.catch_warnings(), recording(memory.threads.get("t")):
        warnings.simplefilter("error")
        Reporting().invoke([odd])
    assert rows(memory) == [("finished", 100)]
    assert memory.threads.get("t").call(1).messages is None
    assert "cannot be kept" in caplog.text


def test_images_are_kept_once_as_they_are(memory: Memory) -> None:
    """LangChain shows callbacks an image in another form than the model gets: it is the thread's all the same."""
    image = {"type": "image", "base64": "A" * 4000, "mime_type": "image/png"}
    agent = create_agent(Reporting(), [], middleware=[Recording(memory)], checkpointer=memory.checkpointer)
    agent.invoke(
        {"messages": [HumanMessage(content=[{"type": "text", "text": "look"}, image], id="i")]}, config()
    )
    (sent,) = memory.threads.get("t").call(1).messages or ()
    assert sent.content[1] == image
    assert memory.threads.stats("t").tables["contents"].bytes < 2000


def test_tools_and_schemas_are_kept(memory: Memory) -> None:
    look = {"type": "function", "function": {"name": "look", "parameters": {}}}
    with recording(memory.threads.get("t")):
        Reporting().bind_tools([look], response_format={"type": "json_object"}).invoke(ASKED)
    found = memory.threads.get("t").call(1)
    assert found.tools == (look,)
    assert found.options == {"response_format": {"type": "json_object"}}


def test_a_reservation_is_given_back_with_the_row(memory: Memory) -> None:
    thread = memory.threads.get("t")
    notes, budget = Notes(thread), Budget(tokens=400)
    for _ in range(3):
        held = notes.reserve(budget, 150, None)
        with recording(thread, reservation=held):
            Reporting().invoke(ASKED)
    with pytest.raises(BudgetExceeded) as caught:
        notes.reserve(budget, 150, Decimal(0))
    assert (caught.value.fields["spent_tokens"], caught.value.fields["reserved_tokens"]) == (360, 0)


@pytest.mark.parametrize(
    ("model", "held"),
    [(Reporting(fails=1), 0), (Reporting(usage=None), 150), (Reporting(usage=None, fails=1), 0)],
    ids=["failed", "unreported", "failed, unreported"],
)
def test_what_nobody_reported_stays_set_aside(memory: Memory, model: Reporting, held: int) -> None:
    thread = memory.threads.get("t")
    notes, budget = Notes(thread), Budget(tokens=200)
    reservation = notes.reserve(budget, 150, None)
    try:
        with recording(thread, reservation=reservation):
            model.invoke(ASKED)
    except RuntimeError:
        pass
    with pytest.raises(BudgetExceeded) as caught:
        notes.reserve(budget, 201, None)
    assert caught.value.fields["reserved_tokens"] == held
