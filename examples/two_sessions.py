"""A thread on disk over two sessions, once in durability `sync` and once in `exit`.

    python examples/two_sessions.py

Each session opens the file, says one thing and closes it again, as two runs of a program would. In
`sync` each step is on disk before the next one starts; in `exit` a turn is stored once, at its end.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Literal

from example_model import arguments, chosen, said_before
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import threadkeep


def reply(messages: list[BaseMessage]) -> AIMessage:
    if "?" not in messages[-1].text:
        return AIMessage("Noted.")
    place = said_before(messages, "the spare key is")
    return AIMessage(f"It is {place}." if place else "You have not told me that.")


def session(model: BaseChatModel, url: str, durability: Literal["sync", "exit"], text: str) -> None:
    with threadkeep.open(url) as memory:
        agent = create_agent(model, checkpointer=memory.checkpointer)
        config = {"configurable": {"thread_id": "keys"}}
        result = agent.invoke({"messages": [HumanMessage(text)]}, config, durability=durability)
        info = memory.threads.get("keys").info()
        print(f"  {text}\n    {result['messages'][-1].text}")
        print(
            f"    {info.messages} messages in {info.checkpoints} checkpoints, {memory.size():,} bytes on disk"
        )


def main() -> None:
    options = arguments(__doc__ or "", db="a new file in a temporary folder").parse_args()
    model = chosen(options.model, reply)
    modes: tuple[Literal["sync", "exit"], ...] = ("sync", "exit")
    for durability in modes:
        with tempfile.TemporaryDirectory() as folder:
            url = options.db if "://" in options.db else f"sqlite:///{Path(folder) / 'keys.db'}"
            print(f"durability={durability}")
            session(model, url, durability, "The spare key is under the blue pot.")
            session(model, url, durability, "Where is the spare key?")


if __name__ == "__main__":
    main()
