"""`thread.view(policy)`: a policy in a plain loop, with summaries and marks that outlive the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

import threadkeep
from threadkeep.context import SummaryBuffer, Window, validate


class Summarizer(BaseChatModel):
    """Writes numbered summaries, or fails on the calls that are given."""

    failing: tuple[int, ...] = ()
    calls: list[int] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "summarizer"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.calls.append(len(messages))
        if len(self.calls) in self.failing:
            raise ValueError("the line is down")
        text = f"Summary number {len(self.calls)} of what was said about the garden."
        usage: Any = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text, usage_metadata=usage))])


def turn(number: int) -> list[BaseMessage]:
    return [
        HumanMessage(f"Bed {number} has carrots, and what else should go there?"),
        AIMessage("Onions do."),
    ]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'loop.db'}"


def test_a_window_goes_in_steps_from_process_to_process(url: str) -> None:
    policy = Window(messages=12, to=4)
    sizes = []
    for number in range(1, 20):
        with threadkeep.open(url) as memory:
            thread = memory.threads.get("loop")
            thread.append(turn(number))
            sizes.append(len(thread.view(policy)))
            assert memory.doctor() == ()
    assert max(sizes) <= 12
    assert sizes[:8] == [2, 4, 6, 8, 10, 12, 4, 6], "it does not slide: it is cut once, and grows again"
    assert sizes[8:] == [8, 10, 12, 4, 6, 8, 10, 12, 4, 6, 8]


def test_a_summary_is_paid_for_once(url: str) -> None:
    model = Summarizer()
    policy = SummaryBuffer(trigger=("messages", 10), keep=4, model=model)
    with threadkeep.open(url) as memory:
        thread = memory.threads.get("loop")
        for number in range(1, 7):
            thread.append(turn(number))
        first = thread.view(policy)
    assert "Summary number 1" in first.messages[0].text and model.calls != []
    paid = len(model.calls)
    with threadkeep.open(url) as memory:
        thread = memory.threads.get("loop")
        again = thread.view(SummaryBuffer(trigger=("messages", 10), keep=4, model=model))
        assert [m.text for m in again.messages] == [m.text for m in first.messages]
        thread.append(turn(7))
        more = thread.view(policy)
        assert more.messages[0].text == first.messages[0].text
        assert len(model.calls) == paid
        assert len(thread.messages()) == 14 and len(thread.summaries()) == 1
        usage = thread.usage()
        assert [one.purpose for one in thread.calls()] == ["summary"] * paid
        assert usage.input_tokens == 90 * paid


def test_a_failing_summarizer_leaves_a_valid_view_and_waits(url: str) -> None:
    model = Summarizer(failing=(1,))
    policy = SummaryBuffer(trigger=("messages", 10), keep=4, model=model)
    with threadkeep.open(url) as memory:
        thread = memory.threads.get("loop")
        for number in range(1, 7):
            thread.append(turn(number))
        view = thread.view(policy)
        assert validate(view.messages) == () and len(view) == 12
        assert len(model.calls) == 1
        thread.view(policy)
        assert len(model.calls) == 1, "the next call does not ask at once"
        for number in range(7, 20):
            thread.append(turn(number))
            view = thread.view(policy)
        assert len(model.calls) >= 2 and "Summary number" in view.messages[0].text


def test_pinned_and_deleted_messages(url: str) -> None:
    policy = Window(messages=4)
    with threadkeep.open(url) as memory:
        thread = memory.threads.get("loop")
        for number in range(1, 7):
            thread.append(turn(number))
        messages = thread.messages()
        thread.pin(messages[0].id or "")
        assert thread.view(policy).messages[0].text.startswith("Bed 1 has carrots")
        thread.delete_messages([messages[0].id or ""])
        assert all("Bed 1 " not in m.text for m in thread.view(policy).messages)


async def test_the_async_twin(url: str) -> None:
    model = Summarizer()
    policy = SummaryBuffer(trigger=("messages", 10), keep=4, model=model)
    async with threadkeep.open(url) as memory:
        thread = memory.threads.get("loop")
        for number in range(1, 7):
            await thread.aappend(turn(number))
        view = await thread.aview(policy)
        assert "Summary number 1" in view.messages[0].text
        assert [m.text for m in (await thread.aview(policy)).messages] == [m.text for m in view.messages]
        assert len(model.calls) == 1


def test_a_fork_has_a_state_of_its_own(url: str) -> None:
    policy = Window(messages=12, to=4)
    with threadkeep.open(url) as memory:
        thread = memory.threads.get("loop")
        for number in range(1, 8):
            thread.append(turn(number))
            view = thread.view(policy)
        assert len(view) == 4
        thread.fork(before=thread.messages()[10].id)
        assert len(thread.view(policy)) == 10, "here the window was never full"


def test_a_thread_that_is_not_there(url: str) -> None:
    with threadkeep.open(url) as memory, pytest.raises(threadkeep.ThreadNotFound, match="nowhere"):
        memory.threads.get("nowhere").view(Window(messages=4))
