"""Chat models by name, as LangChain resolves them."""

from __future__ import annotations

from functools import lru_cache

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel


@lru_cache(maxsize=32)
def chat_model(name: str) -> BaseChatModel:
    """Return the chat model of a name such as `openai:gpt-4.1-mini`, made once."""
    model = init_chat_model(name)
    assert isinstance(model, BaseChatModel)
    return model
