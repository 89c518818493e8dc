"""A policy of your own, one function: pictures and long tool results leave, what people said stays.

python examples/own_policy.py
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from example_model import arguments, chosen
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

import threadkeep
from threadkeep.context import ContextMiddleware, policy

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@policy
def words_only(messages: list[BaseMessage]) -> Sequence[str | None]:
    """Say for each message why it leaves, or None where it stays."""
    return [why_not(message) for message in messages]


def why_not(message: BaseMessage) -> str | None:
    """Decide by what a message holds. What it decides never changes, so the prompt's beginning stays cached."""
    kinds = {part["type"] for part in message.content_blocks}
    if kinds & {"image", "audio", "video", "file"}:
        return "has media"
    if isinstance(message, ToolMessage) and len(message.text) > 2_000:
        return "is a long result"
    return None


def reply(messages: list[BaseMessage]) -> AIMessage:
    pictures = sum("image" in {part["type"] for part in message.content_blocks} for message in messages)
    return AIMessage(f"I see {len(messages)} messages and {pictures} pictures.")


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    model = chosen(options.model, reply)
    picture: Any = {"type": "image", "base64": PICTURE, "mime_type": "image/png"}
    said: Any = {"type": "text", "text": "Here is the gate. What do you see?"}
    with threadkeep.open(options.db) as memory:
        agent = create_agent(
            model, middleware=[ContextMiddleware(words_only, memory=memory)], checkpointer=memory.checkpointer
        )
        for content in (
            "The gate was painted on Monday.",
            [said, picture],
            "And now?",
            "When was it painted?",
        ):
            messages = [HumanMessage(content)]  # type: ignore[arg-type]
            result = agent.invoke({"messages": messages}, {"configurable": {"thread_id": "gate"}})
            print(f"> {messages[0].text}\n{result['messages'][-1].text}")
        thread = memory.threads.get("gate")
        call = thread.call(len(thread.calls()))
        for reason in call.reasons:
            print(f"  {reason.position} {reason.message.type}: {reason.text}")


if __name__ == "__main__":
    main()
