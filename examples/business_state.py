"""An agent with business fields in its state: one tool reads them, another writes them.

python examples/business_state.py
"""

from __future__ import annotations

from typing import Any

from example_model import arguments, chosen, tool_call
from langchain.agents import AgentState, create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.types import Command

import threadkeep

PROMPT = "You keep a customer's basket with your tools. Answer in one short sentence."
PRICES = {"tea": 4, "honey": 9, "bread": 3}


class Desk(AgentState[Any]):
    """What an order desk knows besides the messages."""

    customer: str
    basket: dict[str, int]
    total: int


@tool
def show_basket(runtime: ToolRuntime[None, Desk]) -> str:
    """Say what is in the customer's basket and what it costs."""
    basket = ", ".join(f"{n} {item}" for item, n in runtime.state["basket"].items()) or "nothing"
    return f"{runtime.state['customer']} has {basket} for {runtime.state['total']} euros"


@tool
def add_to_basket(item: str, number: int, runtime: ToolRuntime[None, Desk]) -> Command[Any]:
    """Put tea, honey or bread into the basket."""
    basket = {**runtime.state["basket"], item: runtime.state["basket"].get(item, 0) + number}
    total = sum(PRICES.get(name, 0) * n for name, n in basket.items())
    done = ToolMessage(f"added {number} {item}", tool_call_id=runtime.tool_call_id or "")
    return Command(update={"basket": basket, "total": total, "messages": [done]})


def reply(messages: list[BaseMessage]) -> AIMessage:
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"{last.text[0].upper()}{last.text[1:]}.")
    for item in PRICES:
        if item in last.text:
            number = next((int(word) for word in last.text.split() if word.isdigit()), 1)
            return tool_call("add_to_basket", item=item, number=number)
    return tool_call("show_basket")


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    model = chosen(options.model, reply)
    with threadkeep.open(options.db) as memory:
        agent = create_agent(
            model,
            [show_basket, add_to_basket],
            system_prompt=PROMPT,
            state_schema=Desk,
            checkpointer=memory.checkpointer,
        )
        config = {"configurable": {"thread_id": "order-17"}}
        # Fields that no message mentions are given once; later turns find them in the state.
        start: dict[str, Any] = {"customer": "Olena", "basket": {}, "total": 0}
        for text in ("Add 2 tea, please.", "Add 1 honey.", "What do I have?"):
            result = agent.invoke({"messages": [HumanMessage(text)], **start}, config)
            print(f"{text}\n  {result['messages'][-1].text}")
            start = {}
        print("The basket at each step that changed it:")
        before: Any = None
        for state in reversed(list(agent.get_state_history(config))):
            if state.values.get("basket") != before:
                before = state.values["basket"]
                assert state.metadata is not None
                print(f"  step {state.metadata['step']}: {before}, total {state.values['total']}")


if __name__ == "__main__":
    main()
