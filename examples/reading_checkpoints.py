"""Read the checkpoints of an agent's turn: an answer after one tool call makes five.

python examples/reading_checkpoints.py
"""

from __future__ import annotations

from example_model import arguments, chosen, tool_call
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

import threadkeep


@tool
def population(city: str) -> str:
    """How many people live in a city."""
    return {"Lviv": "about 720,000", "Odesa": "about 1,010,000"}.get(city, "unknown")


def reply(messages: list[BaseMessage]) -> AIMessage:
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"It is {last.text}.")
    return tool_call("population", city="Lviv")


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    model = chosen(options.model, reply)
    with threadkeep.open(options.db) as memory:
        agent = create_agent(model, [population], checkpointer=memory.checkpointer)
        config = {"configurable": {"thread_id": "cities"}}
        agent.invoke({"messages": [HumanMessage("How many people live in Lviv? Use the tool.")]}, config)

        # Through the graph: what each checkpoint holds, and which node comes next.
        print(f"{'step':>4}  {'source':6}  {'next':10}  {'checkpoint':10}  {'parent':10}  messages")
        for state in reversed(list(agent.get_state_history(config))):
            assert state.metadata is not None
            step, source = state.metadata["step"], state.metadata["source"]
            following = ", ".join(state.next) or "(end)"
            own, parent = short(state.config), short(state.parent_config)
            count = len(state.values.get("messages", []))
            print(f"{step:>4}  {source:6}  {following:10}  {own:10}  {parent:10}  {count}")

        # Without a graph: pages that decode no message until one is asked for.
        thread = memory.threads.get("cities")
        page = thread.history(limit=50)
        print(f"{len(page)} checkpoints; the newest says: {thread.messages()[-1].text}")


def short(config: object) -> str:
    """The end of a checkpoint id, which is what differs between neighbours."""
    if not isinstance(config, dict):
        return "-"
    return str(config["configurable"]["checkpoint_id"])[9:18]


if __name__ == "__main__":
    main()
