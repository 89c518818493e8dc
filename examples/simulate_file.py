"""What policies would have cost on a conversation that you have as a file, before anything is adopted.

    python examples/simulate_file.py
    python examples/simulate_file.py conversation.json --policy window:messages=20

The file holds messages in the form of OpenAI, Anthropic or LangChain. No model is called. Without a file
the program writes one with a conversation of sixty turns.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from example_model import arguments, chosen
from langchain_core.messages import AIMessage, BaseMessage

from threadkeep.context import simulate

POLICIES = ["buffer", "window:messages=20", "summary-buffer:tokens=2000,keep=10"]


def reply(messages: list[BaseMessage]) -> AIMessage:
    raise AssertionError("a simulation calls no model")


def sample(folder: str) -> Path:
    """Write a conversation in OpenAI's form."""
    messages = []
    for turn in range(1, 61):
        question = (
            f"Shelf {turn} in hall {turn % 4}: how many boxes should be there, and who counted them last?"
        )
        answer = (
            f"Of the {40 + turn} boxes on shelf {turn} all were there on Monday; Olena counted them. " * 4
        )
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    path = Path(folder) / "conversation.json"
    path.write_text(json.dumps({"messages": messages}), "utf-8")
    return path


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("file", nargs="?", type=Path, help="a JSON file of messages")
    parser.add_argument("--policy", action="append", help="instead of the three that are compared")
    options = parser.parse_args()
    chosen(options.model, reply)
    with tempfile.TemporaryDirectory() as folder:
        found = simulate(str(options.file or sample(folder)), options.policy or POLICIES)
    print(f"{'policy':<36}{'calls':>6}{'input':>9}{'peak':>8}{'cached':>8}{'facts in view':>15}")
    for one in found.policies:
        print(
            f"{one.policy:<36}{one.model_calls:>6}{one.total_input_tokens:>9,}{one.peak:>8,}"
            f"{one.cached_share:>8.0%}{one.facts.visible:>8} of {one.facts.total}"
        )


if __name__ == "__main__":
    main()
