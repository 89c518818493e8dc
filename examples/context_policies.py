"""One conversation under every policy: what the model is sent, what has left, and whether it still knows.

    python examples/context_policies.py
    python examples/context_policies.py window offload

The first message tells a badge number, the last asks for it, and between them a tool returns long lists.
Nothing is lost in any of them: the thread keeps every message, whatever the policy sends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from example_model import arguments, chosen, tool_call
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

import threadkeep
from threadkeep.context import (
    Buffer,
    ContextMiddleware,
    Entities,
    HeadTail,
    Media,
    Offload,
    Policy,
    Summary,
    SummaryBuffer,
    ToolResults,
    Window,
)

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
ITEMS = ["bolts", "belts", "lamps", "seals", "pumps", "fuses", "hoses", "wires"]


def buffer() -> Policy:
    """Send everything."""
    return Buffer()


def window() -> Policy:
    """Send the newest twelve messages at most; when there are more, go on with half of them."""
    return Window(messages=12)


def summary() -> Policy:
    """At twelve messages put a summary in the place of all but the open turn."""
    return Summary(trigger=("messages", 12))


def summary_buffer() -> Policy:
    """At twelve messages put a summary in the place of all but the newest four."""
    return SummaryBuffer(trigger=("messages", 12), keep=4)


def head_tail() -> Policy:
    """Keep the first two messages and the newest four; leave out what lies between them."""
    return HeadTail(head=2, tail=4, trigger=("messages", 12), summarise=False)


def offload() -> Policy:
    """Take the older part out of the view, and give the model tools to search and read it."""
    return Offload(trigger=("messages", 12), keep=4)


def entities() -> Policy:
    """A window, and beside the question what is known of people, places and projects."""
    return Entities(every=2) | Window(messages=12)


def tool_results() -> Policy:
    """Keep every message, and clear what tools returned but for the newest two."""
    return ToolResults(keep=2, step=2)


def media() -> Policy:
    """Keep every message, and put a line in the place of each picture that is no longer new."""
    return Media(keep=0, step=1)


def composed() -> Policy:
    """Several, each on what the former left."""
    return (
        Media(keep=0, step=1) | ToolResults(keep=2, step=2) | SummaryBuffer(trigger=("messages", 14), keep=6)
    )


POLICIES: list[Callable[[], Policy]] = [
    buffer, window, summary, summary_buffer, head_tail, offload, entities, tool_results, media, composed,
]  # fmt: skip


@tool
def in_stock(item: str) -> str:
    """List where an item lies in the depot."""
    return "; ".join(f"shelf {shelf}: {len(item) + shelf} {item}" for shelf in range(1, 41))


def questions() -> list[HumanMessage]:
    """What is asked, turn by turn."""
    picture: Any = {"type": "image", "base64": PICTURE, "mime_type": "image/png"}
    said: Any = {"type": "text", "text": "This is the gate, for the files."}
    first = HumanMessage(
        "I am Olena Bondar and work in the depot in Sokal, mostly at night, when the lorries from the harbour come in "
        "and everything that they bring has to be counted and put away; my badge number is 7315."
    )
    asked = [HumanMessage(f"Where are the {item}?") for item in ITEMS]
    return [first, HumanMessage([said, picture]), *asked, HumanMessage("What is my badge number?")]


def reply(messages: list[BaseMessage]) -> AIMessage:
    # A policy's notes stand behind the newest message, and are marked.
    last = [message for message in messages if "threadkeep" not in message.additional_kwargs][-1]
    sent = "\n".join(message.text for message in messages)
    if isinstance(last, ToolMessage) and last.name == "in_stock":
        return AIMessage(
            f"They are on {len(last.text.split(';'))} shelves, the first is {last.text.split(':')[0]}."
        )
    item = next((item for item in ITEMS if f"the {item}?" in last.text), None)
    if item is not None:
        return tool_call("in_stock", item=item)
    if "my badge number?" not in last.text and not isinstance(last, ToolMessage):
        return AIMessage("Noted.")
    badge = re.search(r"badge number is (\d+)", sent)
    if badge is not None:
        return AIMessage(f"It is {badge[1]}.")
    if "search_history" in sent and not isinstance(last, ToolMessage):
        return tool_call("search_history", query="my badge number")
    return AIMessage("You have not told me that.")


def hold(memory: threadkeep.Memory, model: Any, policy: Policy, name: str, summarizer: Any) -> None:
    """Hold the conversation under a policy, and tell what its last call was sent."""
    context = ContextMiddleware(policy, memory=memory, model=summarizer)
    agent = create_agent(model, [in_stock], middleware=[context], checkpointer=memory.checkpointer)
    answer = ""
    for question in questions():
        result = agent.invoke({"messages": [question]}, {"configurable": {"thread_id": name}})
        answer = result["messages"][-1].text
    thread = memory.threads.get(name)
    call = thread.call(len(thread.calls()))
    became = Counter(reason.text.split(" by ")[0] for reason in call.reasons)
    words = ", ".join(f"{count} {what}" for what, count in became.items())
    print(f"  the badge number? {answer}")
    print(f"  the last call was sent {len(call.messages or ())} messages; of the thread's: {words}")
    print(
        f"  {thread.usage().input_tokens} input tokens in all; the thread has {len(thread.messages())} messages"
    )


def main() -> None:
    known = {make.__name__: make for make in POLICIES}
    parser = arguments(__doc__ or "")
    parser.add_argument("policies", nargs="*", metavar="POLICY", help=f"some of {', '.join(known)}")
    options = parser.parse_args()
    model = chosen(options.model, reply)
    # Without a summarizer policies make do with an extract; the stand-in here could not write a summary.
    summarizer = model if options.model != "scripted" else None
    with threadkeep.open(options.db) as memory:
        for name in options.policies or known:
            if name not in known:
                parser.error(f"there is no policy {name!r}; there are {', '.join(known)}")
            print(f"{name}: {known[name].__doc__}")
            hold(memory, model, known[name](), name, summarizer)


if __name__ == "__main__":
    main()
