"""Which language a conversation is in."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.messages import BaseMessage


def detect(text: str) -> str | None:
    """Return the language of a text as an ISO 639-1 code, or None when it cannot be told."""
    return None


def of(messages: Iterable[BaseMessage]) -> str | None:
    """Return the language that the people in a conversation write, or None when it cannot be told."""
    return None


_NAMES = {
    "en": "English",
    "ru": "Russian",
    "uk": "Ukrainian",
    "zh": "Chinese",
    "ja": "Japanese",
    "ko": "Korean",
    "es": "Spanish",
    "de": "German",
    "fr": "French",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
    "pl": "Polish",
    "tr": "Turkish",
    "ar": "Arabic",
    "fa": "Persian",
    "he": "Hebrew",
    "hi": "Hindi",
    "th": "Thai",
    "el": "Greek",
    "vi": "Vietnamese",
    "bg": "Bulgarian",
    "cs": "Czech",
    "sv": "Swedish",
}


def name_of(code: str) -> str:
    """Return the English name of a language, or the code where no name is known."""
    return _NAMES.get(code, code)
