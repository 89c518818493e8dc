"""A budget: what the calls of a thread may take, checked before each of them.

python examples/budget.py
python examples/budget.py --tokens 2000
"""

from __future__ import annotations

from example_model import arguments, chosen
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import threadkeep
from threadkeep.context import Budget, ContextMiddleware, Window

QUESTIONS = ["Name a river in Ukraine.", "Name another one.", "And one in Poland.", "One in Romania?"] * 5


def reply(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage(
        "That is the Dnister, which is a long river that rises in the mountains and reaches the sea."
    )


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--tokens", type=int, default=600, help="what the thread's calls may take in all (600)"
    )
    options = parser.parse_args()
    model = chosen(options.model, reply)
    # `reserve` is room for an answer, where the model itself names no most.
    budget = Budget(tokens=options.tokens, per="thread", reserve=50)
    with threadkeep.open(options.db) as memory:
        context = ContextMiddleware(Window(messages=6), memory=memory, budget=budget)
        agent = create_agent(model, middleware=[context], checkpointer=memory.checkpointer)
        thread = memory.threads.get("rivers")
        for turn, question in enumerate(QUESTIONS, start=1):
            try:
                agent.invoke(
                    {"messages": [HumanMessage(question)]}, {"configurable": {"thread_id": "rivers"}}
                )
            except threadkeep.BudgetExceeded as error:
                print(f"turn {turn}: no call was made. {error}")
                break
            print(f"turn {turn}: {thread.usage().total_tokens} of {options.tokens} tokens")


if __name__ == "__main__":
    main()
