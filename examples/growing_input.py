"""How the input of a model call grows turn by turn, when the whole thread is sent each time.

python examples/growing_input.py --turns 8
"""

from __future__ import annotations

from example_model import arguments, chosen
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import threadkeep

QUESTIONS = [
    "Name a river in Ukraine and say one thing about it.",
    "Name another one.",
    "Which of them is longer?",
    "Which sea does the longer one reach?",
]


def reply(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage("The Dnipro is a long river, and it flows from north to south into the Black Sea.")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--turns", type=int, default=8)
    options = parser.parse_args()
    model = chosen(options.model, reply)
    with threadkeep.open(options.db) as memory:
        agent = create_agent(model, checkpointer=memory.checkpointer)
        config = {"configurable": {"thread_id": "rivers"}}
        thread = memory.threads.get("rivers")
        print(f"{'turn':>4}  {'messages':>8}  {'input':>6}  {'output':>6}  {'input of all turns':>18}")
        for turn in range(1, options.turns + 1):
            agent.invoke({"messages": [HumanMessage(QUESTIONS[(turn - 1) % len(QUESTIONS)])]}, config)
            usage, count = thread.usage(), thread.info().messages
            if usage.last is None:
                print(f"{turn:>4}  {count:>8}  (this model reports no token usage)")
                continue
            sent, said = usage.last.input_tokens, usage.last.output_tokens
            print(f"{turn:>4}  {count:>8}  {sent:>6}  {said:>6}  {usage.input_tokens:>18}")
        print("Each call pays for every message before it, so the sum grows with the square of the turns.")


if __name__ == "__main__":
    main()
