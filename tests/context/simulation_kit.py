"""A recorded conversation: a model that counts what it is sent, a policy that chooses, and the ledger."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from threadkeep.adapters.agents.recorder import recording
from threadkeep.context import Policy, View
from threadkeep.thread import Thread

PROMPT = SystemMessage(
    "You help the people of a bicycle workshop. Be short, be exact, and never guess a number."
)
STOCK = {
    "type": "function",
    "function": {
        "name": "stock",
        "description": "Say how many of a part are in stock, and where they lie.",
        "parameters": {"type": "object", "properties": {"part": {"type": "string"}}, "required": ["part"]},
    },
}
RECALL = [{"type": "function", "function": {"name": name}} for name in ("search_history", "read_history")]
NOUNS = (
    "frame wheel brake chain saddle pedal lamp tyre bell basket lock pump spoke fork rim cable lever".split()
)
VERBS = "order paint check move mend clean sell send count return".split()

Encode = Callable[[str], int]


def by_pieces(text: str) -> int:
    """Count as a tokenizer might: a token for four letters of a word, for three digits, for each sign."""
    return sum(max(1, (len(piece) + 3) // 4) for piece in re.findall(r"[^\W\d_]+|\d{1,3}|[^\w\s]", text))


class Counting(BaseChatModel):
    """Answers in a sentence of its own, calls a tool now and then, and reports what it was sent."""

    encode: Encode = by_pieces
    name: str | None = "gpt-5-mini"
    tools_every: int = 3
    seed: int = 5
    _rng: random.Random = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        self._rng = random.Random(self.seed)

    @property
    def _llm_type(self) -> str:
        return "counting"

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:
        return {"ls_model_type": "chat", "ls_model_name": self.name, "ls_provider": "workshop"}

    def reported(self, messages: list[BaseMessage], tools: Any) -> int:
        """Return the input tokens: four a message, and what the tokenizer says of everything else."""
        size = sum(self.encode(json.dumps(tool)) for tool in tools)
        for message in messages:
            size += 4 + self.encode(message.text)
            for call in getattr(message, "tool_calls", ()):
                size += 6 + self.encode(f"{call['name']} {json.dumps(call['args'])}")
        return size

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        rng = self._rng
        calls = []
        if messages[-1].type == "human" and rng.randrange(self.tools_every) == 0:
            calls = [
                {"name": "stock", "args": {"part": rng.choice(NOUNS)}, "id": f"call_{rng.randrange(10**9)}"}
            ]
        text = "" if calls else sentence(rng, rng.randint(20, 70))
        output = self.encode(text) + 12 * len(calls)
        size = self.reported(messages, kwargs.get("tools") or ())
        message = AIMessage(
            text,
            id=f"answer-{rng.randrange(10**12)}",
            tool_calls=calls,
            usage_metadata={"input_tokens": size, "output_tokens": output, "total_tokens": size + output},
            response_metadata={"model_name": self.name},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def sentence(rng: random.Random, words: int) -> str:
    """Return a text of about so many words, with a number and a name now and then."""
    parts = []
    for _ in range(words):
        kind = rng.random()
        parts.append(
            f"no. {rng.randrange(10_000, 99_999)}" if kind < 0.03
            else rng.choice(("Olena", "Marek", "Aiko", "Leeds")) if kind < 0.05
            else rng.choice(NOUNS if kind < 0.55 else VERBS)
        )  # fmt: skip
    return " ".join(parts).capitalize() + "."


def converse(
    thread: Thread,
    policy: Policy,
    *,
    turns: int = 30,
    model: Any = None,
    prompt: SystemMessage | None = PROMPT,
    record: bool = True,
    tools: bool = True,
    seed: int = 1,
) -> None:
    """Hold a conversation in a plain loop, every call of it under a policy and, unless told not to, recorded."""
    rng = random.Random(seed)
    model = model or Counting()
    given = {"tools": [STOCK, *(RECALL if policy.recalls else [])]} if tools else {}
    messages: list[BaseMessage] = []
    view: View | None = None
    for n in range(turns):
        said: list[BaseMessage] = [HumanMessage(sentence(rng, rng.randint(15, 60)), id=f"h{n}")]
        while said:
            messages += said
            thread.append(said)
            view = policy.view(messages, model=model, system=prompt, **given, previous=view)
            sent = [*([prompt] if prompt else []), *view.messages]
            if record:
                with recording(thread, source=messages, reasons=view.reasons, policy=policy.name):
                    answer = model.invoke(sent, **given)
            else:
                answer = model.invoke(sent, **given)
            messages.append(answer)
            thread.append([answer])
            said = [
                ToolMessage(
                    json.dumps({"part": call["args"]["part"], "count": rng.randrange(90)}),
                    tool_call_id=call["id"],
                    name="stock",
                    id=f"r{n}",
                )
                for call in answer.tool_calls
            ]
