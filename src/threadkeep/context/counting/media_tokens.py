"""Tokens of images, audio and files by the rules that providers document, never by the length of their base64.

The size of an image comes from the header of its bytes, where the bytes are in the message; an image behind a URL or a
file id counts as the largest that the provider keeps.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Mapping
from typing import Any, Final

_NESTED: Final = (
    "source",
    "image_url",
    "file",
    "input_audio",
    "audio",
    "inline_data",
    "video",
    "document",
    "input_file",
)
_DATA: Final = ("base64", "data", "file_data")
_MIMES: Final = ("mime_type", "media_type", "format")
_HEADER: Final = 256 * 1024
"""Bytes of an image that are looked at: a JPEG's size stands after its embedded preview and color profile."""
_PAGE: Final = re.compile(rb"/Type\s*/Page[^s]")

# OpenAI, "Images and vision", "Calculating costs": 85 + 170 a tile of 512 for GPT-4o and 4.1; small ones count more.
_OPENAI: Final[tuple[tuple[str, int, int], ...]] = (
    ("gpt-4o-mini", 2833, 5667),
    ("gpt-4.1-mini", 0, 0),
    ("gpt-4.1-nano", 0, 0),
    ("o4-mini", 0, 0),
    ("gpt-5-mini", 0, 0),
    ("gpt-5-nano", 0, 0),
    ("gpt-5", 70, 140),
    ("o1", 75, 150),
    ("o3", 75, 150),
    ("", 85, 170),
)
# The same page: patches of 32 pixels, at most 1,536, times a factor; the highest that is listed is 2.46.
_PATCHES, _PATCH_FACTOR = 1536, {"gpt-4.1-mini": 1.62, "gpt-4.1-nano": 2.46, "o4-mini": 1.72}
_ANTHROPIC: Final = 1600
"""Anthropic, "Vision": width × height / 750; larger images are scaled down to about 1,600 tokens."""
_GEMINI_TILE, _GEMINI_MOST = 258, 16
"""Google, "Understand and count tokens": 258 up to 384 pixels a side, else 258 a tile; 3,072 pixels a side at most."""
_AUDIO_SECOND: Final = {"google": 32, "openai": 10, "anthropic": 32}
"""Tokens of a second of audio: Google, "Understand and count tokens"; OpenAI, "Pricing", 10 a second of input."""
_VIDEO_SECOND: Final = 300
_PDF_PAGE: Final = {"google": 258, "openai": 2000, "anthropic": 3000}
"""Tokens of a page: Anthropic, "PDF support", 1,500 to 3,000 a page and the page's image; Google 258."""


def media_tokens(block: Mapping[str, Any], provider: str = "openai", model: str | None = None) -> int:
    """Return the tokens of one image, audio, video or file block by a provider's rule.

    `provider` is `openai`, `anthropic` or `google`. Blocks of LangChain's standard form and of the three providers are
    understood. What is not inline counts as the largest image, a minute of sound or one page.
    """
    mime, data, detail = _find(block)
    kind = _kind(str(block.get("type", "")), mime)
    if kind == "image":
        return _image(image_size(_decoded(data, _HEADER)), provider, model or "", detail)
    if kind == "audio":
        return math.ceil(_seconds(_decoded(data)) * _AUDIO_SECOND.get(provider, 32))
    if kind == "video":
        return math.ceil(max(1.0, _length(data) / 125_000) * _VIDEO_SECOND)
    content = _decoded(data)
    if mime.startswith("text/") and content:
        return math.ceil(len(content) / 2)
    return _PDF_PAGE.get(provider, 3000) * max(1, len(_PAGE.findall(content)))


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height in pixels from the header of a PNG, JPEG, GIF or WebP image, or None."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n"):
            return struct.unpack(">II", data[16:24])
        if data.startswith((b"GIF87a", b"GIF89a")):
            return struct.unpack("<HH", data[6:10])
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return _webp_size(data)
        if data.startswith(b"\xff\xd8"):
            return _jpeg_size(data)
    except (struct.error, IndexError):
        return None
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    match data[12:16]:
        case b"VP8X" if len(data) >= 30:
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Walk a JPEG's segments to the start of its frame."""
    place = 2
    while place + 9 < len(data):
        if data[place] != 0xFF:
            return None
        marker = data[place + 1]
        if marker == 0xFF:
            place += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        standalone = marker == 0x01 or 0xD0 <= marker <= 0xD8
        place += 2 if standalone else 2 + max(2, struct.unpack(">H", data[place + 2 : place + 4])[0])
    return None


def _image(size: tuple[int, int] | None, provider: str, model: str, detail: str) -> int:
    if size is not None and min(size) <= 0:
        size = None
    if provider == "anthropic":
        return _ANTHROPIC if size is None else min(_ANTHROPIC, math.ceil(size[0] * size[1] / 750))
    if provider == "google":
        return _GEMINI_TILE * _gemini_tiles(size)
    name, base, tile = next(rule for rule in _OPENAI if model.lower().startswith(rule[0]))
    if not base:
        patches = (
            _PATCHES if size is None else min(_PATCHES, math.ceil(size[0] / 32) * math.ceil(size[1] / 32))
        )
        return math.ceil(patches * _PATCH_FACTOR.get(name, 2.46))
    return base if detail == "low" else base + tile * _openai_tiles(size)


def _openai_tiles(size: tuple[int, int] | None) -> int:
    """Count tiles of 512 after scaling into 2,048 × 2,048 and then the shorter side to 768; eight at most."""
    if size is None:
        return 8
    width, height = size
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    return math.ceil(round(width * scale, 3) / 512) * math.ceil(round(height * scale, 3) / 512)


def _gemini_tiles(size: tuple[int, int] | None) -> int:
    if size is None:
        return _GEMINI_MOST
    width, height = size
    if max(width, height) <= 384:
        return 1
    unit = min(768, max(256, math.floor(min(width, height) / 1.5)))
    return min(_GEMINI_MOST, math.ceil(width / unit) * math.ceil(height / unit))


def _find(block: Mapping[str, Any]) -> tuple[str, str | bytes, str]:
    """Return the media type, the inline data (with the header of a data URL taken off) and the level of detail."""
    mime, detail = "", ""
    data: str | bytes = b""
    layers: list[Mapping[str, Any]] = [block]
    layers += [inner for name in _NESTED if isinstance(inner := block.get(name), Mapping)]
    url: Any = block.get("image_url")
    for layer in layers:
        mime = mime or next((layer[key] for key in _MIMES if isinstance(layer.get(key), str)), "")
        data = data or next((layer[key] for key in _DATA if isinstance(layer.get(key), str | bytes)), b"")
        detail = detail or str(layer.get("detail") or "")
        url = layer.get("url") or url
    for text in (url, data):
        if isinstance(text, str) and text.startswith("data:"):
            head, _, data = text.partition(",")
            mime = mime or head[5:].partition(";")[0]
    return mime.lower(), data, detail


def _kind(kind: str, mime: str) -> str:
    for name in ("image", "audio", "video"):
        if name in kind or mime.startswith(name + "/"):
            return name
    return "audio" if mime in ("wav", "mp3") else "file"


def _length(data: str | bytes) -> int:
    return len(data) * 3 // 4 if isinstance(data, str) else len(data)


def _decoded(data: str | bytes, most: int | None = None) -> bytes:
    """Return inline bytes, or what base64 says, at most `most` of them; nothing where it is no base64."""
    if isinstance(data, bytes):
        return data[:most]
    text = data if most is None else data[: most // 3 * 4]
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return b""


def _seconds(data: bytes) -> float:
    """Return how long a sound is: a WAV's header says it, other forms have 4 kB a second and more; 60 when absent."""
    if not data:
        return 60.0
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE" and len(data) >= 32:
        rate = int.from_bytes(data[28:32], "little")
        return len(data) / rate if rate else 60.0
    return max(1.0, len(data) / 4000)
