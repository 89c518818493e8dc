"""The model that `threadkeep chat --model` names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from threadkeep.cli.text import one_line
from threadkeep.errors import ConfigurationError, MissingExtra

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from threadkeep.context.policies.policy import Policy

LOCAL = "local"
EXAMPLE = "openai:gpt-5-mini"


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatModel:
    """A model, the line that tells people what they talk to, and what they could try first.

    `summarizer` writes the summaries of a policy: nobody where the model cannot. `context_window` is in tokens, None
    where the model says so itself; `tools` is whether it can call any.
    """

    model: BaseChatModel
    notice: str
    suggestion: str | None = None
    summarizer: BaseChatModel | None = None
    context_window: int | None = None
    tools: bool = True

    def check(self, policy: Policy) -> None:
        """Raise ConfigurationError for a policy whose recall tools the model cannot call."""
        if policy.recalls and not self.tools:
            from threadkeep.context.policies.parsing import policy_text

            raise ConfigurationError(
                f"policy {policy_text(policy)!r} gives the model tools to read older messages, and the demo model "
                f"calls none; name another model (--model {EXAMPLE}) or another policy, such as summary-buffer",
                option="policy",
            )


def choose(name: str) -> ChatModel:
    """Return the model of a name: `local`, or what LangChain's `init_chat_model` knows as PROVIDER:NAME.

    Raises MissingExtra when its package is not installed, and ConfigurationError for an unknown provider or
    when the provider's own settings, such as an API key, are missing.
    """
    if name == LOCAL:
        return _local()
    model = _known(name)
    return ChatModel(model=model, notice=f"Model: {one_line(name)}.", summarizer=model)


def _local() -> ChatModel:
    from threadkeep.adapters.local import MODEL, LocalChat

    model = LocalChat()
    try:
        model.load()
    except MissingExtra as error:
        raise MissingExtra(f"{error}, or name another model: --model {EXAMPLE}") from error
    return ChatModel(
        model=model,
        notice=f"{MODEL}, a tiny demo model. A real one: --model PROVIDER:NAME, as in {EXAMPLE}.",
        suggestion="Tell it something about yourself, leave, start again, and ask for it.",
        context_window=model.window,
        tools=False,
    )


def _known(name: str) -> BaseChatModel:
    if not name.strip():
        raise ConfigurationError(f"no model is named; give PROVIDER:NAME, as in {EXAMPLE}, or {LOCAL}")
    from langchain.chat_models import init_chat_model

    try:
        model: Any = init_chat_model(name)
    except ImportError as error:
        raise MissingExtra(
            f"model {name!r} needs a package that is not installed: {_sentence(error)}"
        ) from error
    except ValueError as error:
        reason = _sentence(error)
        raise ConfigurationError(
            f"model {name!r} is not known: {reason}; give PROVIDER:NAME, as in {EXAMPLE}, or {LOCAL}"
        ) from error
    except Exception as error:
        # Each provider's package has an exception of its own for a missing key or a bad address.
        raise ConfigurationError(f"model {name!r} cannot be set up: {_sentence(error)}") from error
    if getattr(model, "stream_usage", True) is not True:
        # LangChain leaves the usage out where OPENAI_BASE_URL names another server; the chat shows it.
        model.stream_usage = True
    return model  # type: ignore[no-any-return]


def _sentence(error: Exception) -> str:
    """Return the beginning of what a library says went wrong, on one line."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return one_line(lines[0] if lines else type(error).__name__).rstrip(".:")
