"""An agent under ContextMiddleware, simulated: the reported input tokens come out again."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from tests.context.simulation_kit import Counting, sentence
from threadkeep import Memory
from threadkeep.context import ContextMiddleware, parse_policy, simulate

from .kit import Drive, thread


class Bound(Counting):
    """Sends its tools, as a provider's model does."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools])


@tool
def stock(part: str) -> str:
    """Say how many of a part are in stock, and where they lie."""
    return json.dumps({"part": part, "count": len(part), "where": sentence(random.Random(part), 12)})


@pytest.mark.parametrize(
    ("text", "mode", "writes"),
    [
        ("window:tokens=1500", "view", False),
        ("window:messages=12", "rewrite", False),
        ("summary-buffer:tokens=1500", "view", False),
        ("summary-buffer:tokens=1500", "view", True),
        ("summary-buffer:messages=14,keep=4", "rewrite", True),
        ("offload:tokens=1500", "view", False),
    ],
)
def test_an_agents_reported_tokens_come_out(
    memory: Memory, drive: Drive, text: str, mode: Any, writes: bool
) -> None:
    writer = Counting(name="gpt-5-nano", tools_every=10**9, seed=6) if writes else None
    middleware = ContextMiddleware(parse_policy(text), memory=memory, model=writer, mode=mode)
    agent = create_agent(
        Bound(), [stock], system_prompt="You help the people of a bicycle workshop. Be short.",
        middleware=[middleware], checkpointer=memory.checkpointer,
    )  # fmt: skip
    rng = random.Random(8)
    for _ in range(20):
        drive(agent.invoke, {"messages": [HumanMessage(sentence(rng, rng.randint(15, 60)))]}, thread("t"))

    found = simulate(memory.threads.get("t"), [text])

    (one,) = found.policies
    assert found.recorded is not None and found.recorded.calls == found.calls > 20
    assert one.input_tokens == pytest.approx(found.recorded.input_tokens, rel=0.05)
    assert bool(one.summaries) == writes
    assert len(found.remarks) == 1 + writes
