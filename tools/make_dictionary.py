"""Train the dictionary that short values are compressed with: `python tools/make_dictionary.py`.

It learns from this project's own English (docs and docstrings) and from the layout of stored messages.
The result is part of the storage format: a database written with one dictionary needs it to be read,
so a new one gets a new number and the old ones stay.
"""

from __future__ import annotations

import ast
import random
import re
from pathlib import Path

import zstandard
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from threadkeep.serde import Serde

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "src" / "threadkeep" / "ops" / "dictionary-1.zdict"
SIZE = 24 * 1024


def sentences() -> list[str]:
    """Return the project's own sentences."""
    texts = [
        path.read_text("utf-8") for path in sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md"))
    ]
    for path in sorted(ROOT.glob("src/**/*.py")) + sorted(ROOT.glob("bench/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
                texts.append(ast.get_docstring(node) or "")
    words = " ".join(texts).replace("`", "").replace("|", " ")
    return [part for part in re.split(r"(?<=[.?!;:])\s+", " ".join(words.split())) if 20 < len(part) < 400]


def samples() -> list[bytes]:
    """Return packed messages of every kind, made of those sentences."""
    serde = Serde()
    draw = random.Random(1)
    said = sentences()
    made: list[bytes] = []
    for n, text in enumerate(said * 3):
        more = f"{text} {draw.choice(said)} {draw.choice(said)}"
        usage = {"input_tokens": 40 + n, "output_tokens": 9 + n % 90, "total_tokens": 49 + n + n % 90}
        told = {
            "model_name": draw.choice(["gpt-5-mini", "claude-sonnet-5", "gemini-3-flash"]),
            "finish_reason": "stop",
        }
        call = {
            "name": "search",
            "args": {"query": text[:60], "limit": 5},
            "id": f"call_{n:024x}",
            "type": "tool_call",
        }
        made += [
            serde.message_body(HumanMessage(text)),
            serde.message_body(AIMessage(more, usage_metadata=usage, response_metadata=told)),
            serde.message_body(ToolMessage(more, tool_call_id=f"call_{n:024x}", name="search")),
            serde.encode([call]),
            serde.encode({"role": "user", "content": text}),
            text.encode(),
        ]
    return made


def main() -> None:
    """Train the dictionary and say what it is worth on samples it has not seen."""
    made = samples()
    random.Random(2).shuffle(made)
    split = len(made) * 4 // 5
    dictionary = zstandard.train_dictionary(SIZE, made[:split], level=3)
    TARGET.write_bytes(dictionary.as_bytes())
    compressor = zstandard.ZstdCompressor(
        level=3, dict_data=dictionary, write_content_size=True, write_dict_id=False
    )
    before, after = sum(map(len, made[split:])), sum(len(compressor.compress(item)) for item in made[split:])
    print(
        f"{TARGET.name}: {len(dictionary.as_bytes()):,} bytes; unseen samples shrink to {after / before:.2f}"
    )


if __name__ == "__main__":
    main()
