"""The functional API: `@entrypoint`, `@task`, `previous`, and tasks that are not run again."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.func import entrypoint, task
from langgraph.graph import add_messages
from langgraph.types import Command, RetryPolicy, interrupt

from .kit import Drive, texts, thread

pytestmark = pytest.mark.crosswise


def test_previous_is_the_last_return_value(saver: Any, drive: Drive) -> None:
    @entrypoint(checkpointer=saver)
    def total(number: int, *, previous: int | None = None) -> int:
        return (previous or 0) + number

    assert [drive(total.invoke, n, thread()) for n in (1, 2, 3)] == [1, 3, 6]
    assert drive(total.invoke, 10, thread("other")) == 10
    assert drive(total.get_state, thread()).values == 6


def test_final_saves_something_else_than_it_returns(saver: Any, drive: Drive) -> None:
    @entrypoint(checkpointer=saver)
    def double(number: int, *, previous: Any = None) -> entrypoint.final[Any, Any]:
        return entrypoint.final(value=previous, save=number * 2)

    assert [drive(double.invoke, n, thread()) for n in (1, 2, 3)] == [None, 2, 4]
    assert drive(double.get_state, thread()).values == 4


def test_finished_tasks_do_not_run_again_after_an_interrupt(saver: Any, drive: Drive) -> None:
    runs: list[str] = []

    @task
    def draft(topic: str) -> str:
        runs.append(topic)
        return f"draft about {topic}"

    @entrypoint(checkpointer=saver)
    def essay(topics: list[str]) -> dict[str, Any]:
        drafts = [f.result() for f in [draft(topic) for topic in topics]]
        return {"drafts": drafts, "verdict": interrupt({"review": drafts})}

    paused = drive(essay.invoke, ["tea", "rain"], thread())
    assert paused["__interrupt__"][0].value == {"review": ["draft about tea", "draft about rain"]}
    result = drive(essay.invoke, Command(resume="good"), thread())
    assert result["verdict"] == "good"
    assert sorted(runs) == ["rain", "tea"]


def test_finished_tasks_do_not_run_again_after_a_failure(saver: Any, drive: Drive) -> None:
    runs: list[int] = []
    broken = [True]

    @task
    def step(n: int) -> int:
        runs.append(n)
        if n == 2 and broken:
            broken.clear()
            raise RuntimeError("no")
        return n * 10

    @entrypoint(checkpointer=saver)
    def flow(_: Any) -> list[int]:
        return [step(n).result() for n in range(4)]

    with pytest.raises(RuntimeError):
        drive(flow.invoke, "go", thread())
    assert drive(flow.invoke, None, thread()) == [0, 10, 20, 30]
    assert runs == [0, 1, 2, 2, 3]


def test_task_retries(saver: Any, drive: Drive) -> None:
    runs: list[int] = []
    policy = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=OSError)

    @task(retry_policy=policy)
    def flaky() -> str:
        runs.append(1)
        if len(runs) < 3:
            raise OSError
        return "ok"

    @entrypoint(checkpointer=saver)
    def flow(_: Any) -> str:
        return flaky().result()

    assert drive(flow.invoke, "go", thread()) == "ok"
    assert len(runs) == 3


def test_a_chat_loop_without_a_graph(saver: Any, drive: Drive) -> None:
    seen: list[Any] = []

    @task
    def model(messages: list[Any]) -> AIMessage:
        return AIMessage(f"{len(messages)}: {messages[-1].text}")

    @entrypoint(checkpointer=saver)
    def chat(new: list[Any], *, previous: list[Any] | None = None) -> entrypoint.final[Any, Any]:
        messages = add_messages(previous or [], new)
        seen.append(messages)
        answer = model(messages).result()
        return entrypoint.final(value=answer, save=add_messages(messages, [answer]))

    answers = [drive(chat.invoke, [HumanMessage(t)], thread()) for t in ("one", "two")]
    assert texts(answers) == ["1: one", "3: two"]
    assert texts(seen[-1]) == ["one", "1: one", "two"]
    assert [type(m) for m in seen[-1]] == [HumanMessage, AIMessage, HumanMessage]
    assert drive(chat.get_state, thread()).values == answers[-1]


@pytest.mark.parametrize("mode", ["sync", "async", "exit"])
def test_durability(saver: Any, drive: Drive, mode: str) -> None:
    @task
    def add(a: int, b: int) -> int:
        return a + b

    @entrypoint(checkpointer=saver)
    def total(number: int, *, previous: int | None = None) -> int:
        return add(previous or 0, number).result()

    results = [drive(total.invoke, n, thread(), durability=mode) for n in (5, 6)]
    assert results == [5, 11]


def test_history_and_tasks(saver: Any, drive: Drive) -> None:
    @task
    def ask(question: str) -> str:
        return f"{question}: {interrupt(question)}"

    @entrypoint(checkpointer=saver)
    def form(_: Any) -> list[str]:
        return [ask("name").result(), ask("age").result()]

    drive(form.invoke, "go", thread())
    for answer in ("Olena", "41"):
        assert len(drive(form.get_state, thread()).interrupts) == 1
        result = drive(form.invoke, Command(resume=answer), thread())
    assert result == ["name: Olena", "age: 41"]
    assert [s.next for s in drive(form.get_state_history, thread())] == [(), ("form",)]
