"""What the providers' packages build from a repaired view, looked at by checkers that know nothing of `validate`."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from tests.context.wire import anthropic, chat, gemini, payloads, responses
from threadkeep.context.validity.repair import repair
from threadkeep.testing.histories import random_history

pytest.importorskip("langchain_openai")
pytest.importorskip("langchain_anthropic")
pytest.importorskip("langchain_google_genai")

HISTORIES = 500
PROVIDERS = tuple(payloads.MODELS)


@pytest.fixture(scope="module")
def histories() -> list[list[BaseMessage]]:
    """Histories of up to 30 messages, and in between some of several hundred."""
    return [random_history(seed, size=seed % 30 + 1 if seed % 20 else None) for seed in range(HISTORIES)]


def findings(provider: str, messages: list[BaseMessage], model: str | None = None) -> list[str]:
    built = payloads.payload(provider, messages, model)
    if provider == "google":
        return gemini.findings(built, signatures=model is not None and "gemini-3" in model)
    return {"openai": chat, "openai-responses": responses, "anthropic": anthropic}[provider].findings(built)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_repaired_view_is_a_request_the_provider_takes(
    provider: str, histories: list[list[BaseMessage]]
) -> None:
    models = payloads.MODELS[provider]
    for seed, messages in enumerate(histories):
        model = models[seed % len(models)]
        view = repair(messages, provider=provider, prefill="gemini-3" not in model)
        found = findings(provider, view, model)
        assert not found, (seed, model, found[:3])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_checkers_find_what_is_wrong_with_unrepaired_histories(provider: str) -> None:
    """Many random histories break something; a checker that finds nothing there would prove nothing above."""
    wrong = 0
    for seed in range(60):
        try:
            wrong += bool(findings(provider, random_history(seed)))
        except (KeyError, TypeError, ValueError):  # what the packages raise for messages they cannot build
            wrong += 1
    assert wrong > 20


CALL = AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "call_1"}])
RESULT = ToolMessage("ok", tool_call_id="call_1")
TEXT = HumanMessage("hello")


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "messages",
    [
        pytest.param([TEXT, CALL], id="a call without result at the end"),
        pytest.param([TEXT, CALL, TEXT], id="a call without result"),
        pytest.param([TEXT, CALL, RESULT, CALL, RESULT], id="an id twice"),
        pytest.param([], id="nothing"),
    ],
)
def test_the_checkers_find_planted_faults(provider: str, messages: list[BaseMessage]) -> None:
    google_sends_no_ids = provider == "google" and len(messages) == 5
    assert bool(findings(provider, messages)) is not google_sends_no_ids


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_checkers_are_content_with_a_valid_request(provider: str) -> None:
    messages = [TEXT, CALL, RESULT, AIMessage("done"), TEXT]
    assert not findings(provider, messages)


def test_a_stored_response_is_not_continued_from_a_reduced_view() -> None:
    def answer(number: int) -> AIMessage:
        metadata = {"id": f"resp_{number}", "model_provider": "openai"}
        return AIMessage([{"type": "text", "text": f"answer {number}"}], response_metadata=metadata)

    messages = [HumanMessage("one"), answer(1), HumanMessage("two"), answer(2), HumanMessage("three")]
    options: dict[str, Any] = {"use_previous_response_id": True}

    whole = payloads.payload("openai-responses", repair(messages, provider="openai-responses"), **options)
    assert (whole["previous_response_id"], len(whole["input"])) == ("resp_2", 1)

    view = repair(messages[2:], provider="openai-responses", reduced=True)
    sent = payloads.payload("openai-responses", view, **options)
    assert "previous_response_id" not in sent
    assert len(sent["input"]) == 3


def test_nothing_that_only_the_server_knows_is_sent_without_storage() -> None:
    for seed in range(60):
        view = repair(random_history(seed), provider="openai-responses", store=False)
        built = payloads.payload("openai-responses", view, store=False)
        assert not responses.findings(built, store=False), seed
