"""Texts to count: several passages for each kind of text, none of which the tables were fitted to."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

_FOLDER = Path(__file__).parent / "samples_text"


def passages(name: str) -> list[str]:
    """Read a file's texts, which rulers part."""
    return [part.strip() for part in (_FOLDER / f"{name}.txt").read_text("utf-8").split("\n---\n")]


def others() -> dict[str, str]:
    """Return one passage of each other kind, by the kind's name, which is its first line."""
    return dict(text.split("\n", 1) for text in passages("others"))


def json_passages(count: int = 6, seed: int = 11) -> list[str]:
    """Make results of tools as JSON, compact and indented in turn."""
    return [_result(random.Random(seed + index), index) for index in range(count)]


def _result(chance: random.Random, index: int) -> str:
    items = [
        {
            "id": chance.randrange(10_000, 999_999),
            "sku": f"{chance.choice(['KX', 'BR', 'TN'])}-{chance.randrange(1000, 9999)}",
            "title": chance.choice(["Desk lamp, brass", "Oak shelf 80 cm", "Wool blanket", "Kettle 1.7 l"]),
            "price": round(chance.uniform(3, 400), 2),
            "in_stock": chance.random() < 0.7,
            "updated_at": _moment(chance),
            "warehouse": {
                "city": chance.choice(["Leeds", "Porto", "Graz"]),
                "aisle": chance.randrange(1, 60),
            },
        }
        for _ in range(4)
    ]
    value = {"total": len(items), "next": None, "items": items}
    return json.dumps(value, indent=2 if index % 2 else None)


def _moment(chance: random.Random) -> str:
    return f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}T08:{chance.randrange(60):02}:00Z"


def opaque() -> dict[str, str]:
    """Return texts that are no language: random bytes, numbers, signs."""
    chance = random.Random(5)
    raw = chance.randbytes(600)
    return {
        "Base64": base64.b64encode(raw).decode(),
        "Hex": raw.hex(),
        "Numbers": " ".join(str(chance.randrange(10 ** chance.randrange(1, 9))) for _ in range(150)),
        "Emoji": "".join(chance.choice("😀🎉🚀🔥✨🙏🍕🐙🌍💡") for _ in range(120)),
    }


KINDS: dict[str, list[str]] = {
    "English": passages("english"),
    "Russian": passages("russian"),
    "Chinese": passages("chinese"),
    "Japanese": passages("japanese"),
    "Thai": passages("thai"),
    "Code": passages("code"),
    "JSON": json_passages(),
}
"""The kinds that are promised, with six passages each."""
EXTRA: dict[str, list[str]] = {name: [text.strip()] for name, text in {**others(), **opaque()}.items()}
"""Other kinds, one passage each."""
