"""A plain loop around a chat model, without a graph: the thread keeps, a policy decides what is sent.

python examples/plain_loop.py
"""

from __future__ import annotations

from example_model import arguments, chosen, said_before
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

import threadkeep
from threadkeep.context import SummaryBuffer

SYSTEM = SystemMessage(
    "Answer in one short sentence, from this conversation only. If you were not told, say so."
)
LINES = [
    "My bicycle is green.",
    "It has a basket.",
    "The basket is made of willow.",
    "I ride it to the market.",
    "The market opens at seven.",
    "What colour is my bicycle?",
]


def reply(messages: list[BaseMessage]) -> AIMessage:
    if "?" not in messages[-1].text:
        return AIMessage("Noted.")
    colour = said_before(messages, "my bicycle is")
    return AIMessage(f"It is {colour.split('.')[0]}." if colour else "You have not told me that.")


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    model = chosen(options.model, reply)
    # Summaries are extracts here; model=... would have them written by a model.
    policy = SummaryBuffer(trigger=("messages", 6), keep=2)
    with threadkeep.open(options.db) as memory:
        thread = memory.threads.get("bicycle")
        for line in LINES:
            thread.append(HumanMessage(line))
            view = thread.view(policy, model=model, system=SYSTEM)
            answer = model.invoke([SYSTEM, *view.messages])
            thread.append(answer)
            memory.record_usage(thread.thread_id, answer)
            print(f"> {line}\n{answer.text}")
            print(f"  sent {len(view.messages)} of {len(thread.messages()) - 1} messages")
        print(f"{thread.usage().calls} calls took {thread.usage().input_tokens} input tokens")


if __name__ == "__main__":
    main()
