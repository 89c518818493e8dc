"""One thread remembers, and its neighbour does not.

python examples/two_threads.py
"""

from __future__ import annotations

from example_model import arguments, chosen, said_before
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import threadkeep

PROMPT = "Answer in one short sentence, from this conversation only. If you were not told, say so."


def reply(messages: list[BaseMessage]) -> AIMessage:
    if "?" not in messages[-1].text:
        return AIMessage("Noted.")
    colour = said_before(messages, "my bicycle is")
    return AIMessage(f"Your bicycle is {colour}." if colour else "You have not told me that.")


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    model = chosen(options.model, reply)
    with threadkeep.open(options.db) as memory:
        agent = create_agent(model, system_prompt=PROMPT, checkpointer=memory.checkpointer)

        def say(thread_id: str, text: str) -> None:
            config = {"configurable": {"thread_id": thread_id}}
            result = agent.invoke({"messages": [HumanMessage(text)]}, config)
            print(f"[{thread_id}] {text}\n[{thread_id}]   {result['messages'][-1].text}")

        say("anna", "My bicycle is green.")
        say("anna", "What colour is my bicycle?")
        say("ben", "What colour is my bicycle?")
        for info in memory.threads.list():
            print(f"{info.thread_id}: {info.messages} messages, {info.checkpoints} checkpoints")


if __name__ == "__main__":
    main()
