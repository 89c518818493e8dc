"""The demo model itself: what it remembers, long threads, silence, and a clean end."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage

from threadkeep.adapters.local import LocalChat
from threadkeep.adapters.local_lead import NOT_TOLD
from threadkeep.adapters.local_window import estimate

from .kit import Drive

pytestmark = pytest.mark.model

TOLD: list[BaseMessage] = [
    HumanMessage("My sister is called Oonagh."),
    AIMessage("Your sister is called Oonagh."),
    HumanMessage("I have 14 chickens."),
    AIMessage("You have 14 chickens."),
]


def test_it_recalls_what_it_was_told_and_admits_what_not(drive: Drive) -> None:
    model = LocalChat()
    assert "14" in drive(model.invoke, [*TOLD, HumanMessage("How many chickens do I have?")]).text
    assert drive(model.invoke, [*TOLD, HumanMessage("Where is my boat moored?")]).text == NOT_TOLD
    assert drive(model.invoke, "Which choir do I sing in?").text == NOT_TOLD, "an example is not the thread"


def test_a_stream_adds_up_to_the_answer_with_its_usage(drive: Drive) -> None:
    messages = [HumanMessage("My horse is named Kestrel.")]
    chunks: list[AIMessageChunk] = drive(LocalChat().stream, messages)
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    answer = drive(LocalChat().invoke, messages)
    assert len([chunk for chunk in chunks if chunk.text]) > 1
    assert whole.text == answer.text and "Kestrel" in answer.text
    assert whole.usage_metadata is not None and answer.usage_metadata is not None
    assert whole.usage_metadata["output_tokens"] == answer.usage_metadata["output_tokens"] > 0
    assert whole.usage_metadata["input_tokens"] == answer.usage_metadata["input_tokens"] > 100
    assert answer.usage_metadata["input_token_details"]["cache_read"] > 100


def test_the_same_messages_get_the_same_answer_whatever_was_asked_between() -> None:
    model = LocalChat()
    question = [*TOLD, HumanMessage("What is my sister called?")]
    first = model.invoke(question).text
    model.invoke("My bread needs 35 minutes.")
    assert model.invoke(question).text == first
    assert "Oonagh" in first


def test_a_thread_longer_than_the_window_is_cut_and_its_first_fact_found_again() -> None:
    thread: list[BaseMessage] = [
        HumanMessage("The tent is in the attic."),
        AIMessage("The tent is in the attic."),
    ]
    for number in range(120):
        thread += [HumanMessage(f"Box {number} weighs {number * 3} kilograms."), AIMessage("Noted.")]
    answer = LocalChat(window=512).invoke([*thread, HumanMessage("Where is the tent?")])
    assert answer.usage_metadata is not None and answer.usage_metadata["input_tokens"] < 512
    assert "attic" in answer.text


@pytest.mark.parametrize(
    "text", ["word " * 4000, "漢字" * 2000, "1a:" * 3000, "🎻" * 1500, "\n" * 3000 + "x"]
)
def test_a_message_longer_than_the_window_gets_an_answer(text: str) -> None:
    answer = LocalChat(window=512, max_tokens=8).invoke([*TOLD, HumanMessage(text)])
    assert answer.text
    assert answer.usage_metadata is not None and answer.usage_metadata["total_tokens"] <= 512


@pytest.mark.parametrize(
    "text",
    [
        "The dentist's appointment is at half past two on Friday, and my brother drives me there. " * 3,
        "K-2089, 73-19-40; 7:52 to Ghent: 1,150 euros (plus 3.5 %)!",
        '{"id": 4411, "items": [{"sku": "A-1", "qty": 3}, {"sku": "B-22", "qty": 14}]}',
        "Где моя лодка? Она стоит в гавани.",
        "船在哪里？它停在港口。",
        "เรือของฉันอยู่ที่ไหน",
        "def f(x):\n    return x ** 2\n\n\nprint(f(3))\n",
    ],
)
def test_the_estimate_of_tokens_is_not_below_the_models_count(text: str) -> None:
    model = LocalChat(lead=False, max_tokens=1)
    empty = model.invoke(".").usage_metadata
    full = model.invoke(text.strip()).usage_metadata
    assert empty is not None and full is not None
    count = full["input_tokens"] - empty["input_tokens"] + 1
    assert count <= estimate(text) <= 3 * count + 3


def test_calls_from_several_threads_and_loops_each_get_their_answer() -> None:
    model = LocalChat()
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        messages = [HumanMessage(f"My locker number is {number}.")]
        answers[number] = (
            asyncio.run(model.ainvoke(messages)).text if number % 2 else model.invoke(messages).text
        )

    numbers = [4471, 2088, 9035, 6602]
    threads = [threading.Thread(target=ask, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(str(number) in answers[number] for number in numbers)


async def test_a_cancelled_call_leaves_the_model_free() -> None:
    slow = asyncio.create_task(LocalChat(lead=False, max_tokens=512).ainvoke("Tell me a very long story."))
    await asyncio.sleep(0.5)
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    answer = await asyncio.wait_for(LocalChat().ainvoke("My boat is called Sparrow."), 120)
    assert "Sparrow" in answer.text


def test_a_process_is_silent_and_ends_while_an_answer_is_being_written() -> None:
    program = (
        "from threadkeep.adapters.local import LocalChat\n"
        "stream = LocalChat(lead=False, max_tokens=512).stream('Tell me a very long story.')\n"
        "print(next(stream).type)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "AIMessageChunk\n", "")
