"""A shift assistant: one tool over a small dictionary, on a thread of its own for each name.

    python examples/shift_assistant.py marta
    python examples/shift_assistant.py marta --ask "What is my name?"
    python examples/shift_assistant.py ivan --ask "What is my name?"

Six questions by default: the first states a fact and the last asks for it. Run again with the same
name it goes on where it stopped; another name starts from nothing. When ten messages are there, a summary
takes the place of all but the newest four in what the model is sent; the thread keeps every message.
"""

from __future__ import annotations

from example_model import arguments, chosen, said_before, tool_call
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

import threadkeep
from threadkeep.context import ContextMiddleware, SummaryBuffer

PROMPT = (
    "You answer questions about shifts in one short sentence. Look the day up with the tool. "
    "What else you are asked, answer from this conversation only; if you were not told, say so."
)
SHIFTS = {
    "monday": "Ivan and Petro",
    "tuesday": "Olena",
    "wednesday": "Ivan",
    "thursday": "Sofia and Olena",
    "friday": "Petro",
    "saturday": "Sofia",
    "sunday": "nobody",
}
QUESTIONS = [
    "My name is Marta.",
    "Who is on shift on Monday?",
    "And on Tuesday?",
    "Who has to come on Friday?",
    "Is anybody there on Sunday?",
    "What is my name?",
]


@tool
def who_is_on_shift(day: str) -> str:
    """Say who works on a day of the week."""
    return SHIFTS.get(day.strip().lower(), f"there is no day called {day}")


def reply(messages: list[BaseMessage]) -> AIMessage:
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return AIMessage(f"That is {last.text}.")
    for day in SHIFTS:
        if day in last.text.lower():
            return tool_call("who_is_on_shift", day=day)
    if "?" not in last.text:
        return AIMessage("Noted.")
    name = said_before(messages, "my name is")
    return AIMessage(f"Your name is {name.split('.')[0]}." if name else "You have not told me that.")


def status(memory: threadkeep.Memory, thread_id: str, turn: int) -> str:
    """One line about the thread after a turn."""
    thread = memory.threads.get(thread_id)
    info, last = thread.info(), thread.usage().last
    tokens = "no token usage reported"
    if last is not None:
        cached = f" ({last.cache_read_tokens} cached)" if last.cache_read_tokens else ""
        tokens = f"{last.input_tokens} tokens in{cached}, {last.output_tokens} out"
    counts = f"turn {turn} · {info.messages} messages · {info.checkpoints} checkpoints"
    return f"{counts} · {tokens} · {memory.size() / 1024:,.0f} KiB"


def summary(memory: threadkeep.Memory, thread_id: str) -> str:
    """One line about the newest summary of what the model is no longer sent."""
    made = memory.threads.get(thread_id).summaries()
    if not made:
        return "no summary yet"
    text = " ".join(made[-1].text.split())
    return f"summary of {made[-1].covered} messages: {text[:200]}"


def main() -> None:
    parser = arguments(__doc__ or "", db="sqlite:///shifts.db")
    parser.add_argument("thread", help="the name of the thread: the same name goes on, another starts anew")
    parser.add_argument("--ask", action="append", help="ask this instead of the six questions")
    options = parser.parse_args()
    model = chosen(options.model, reply)
    with threadkeep.open(options.db) as memory:
        # Without a summarizer the summary is an extract; the scripted stand-in could not write one.
        context = ContextMiddleware(
            SummaryBuffer(trigger=("messages", 10), keep=4),
            memory=memory,
            model=model if options.model != "scripted" else None,
        )
        agent = create_agent(
            model,
            [who_is_on_shift],
            system_prompt=PROMPT,
            middleware=[context],
            checkpointer=memory.checkpointer,
        )
        config = {"configurable": {"thread_id": options.thread}}
        known = memory.threads.get(options.thread)
        turns = sum(m.type == "human" for m in known.messages()) if known.exists() else 0
        print(f"thread {options.thread!r}: {f'{turns} turns so far' if turns else 'new'}")
        for turn, text in enumerate(options.ask or QUESTIONS, start=turns + 1):
            result = agent.invoke({"messages": [HumanMessage(text)]}, config)
            print(f"> {text}\n{result['messages'][-1].text}")
            print(f"  {status(memory, options.thread, turn)}")
        print(summary(memory, options.thread))


if __name__ == "__main__":
    main()
