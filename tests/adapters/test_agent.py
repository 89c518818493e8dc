"""`create_agent` on our checkpointer: state fields, tools, hooks, and what a thread holds after."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    SummarizationMiddleware,
    after_model,
    before_model,
)
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Overwrite

from .kit import Drive, calls, calls_all, echo, human, kinds, says, script, texts, thread, tool_user


@dataclass
class Secrets:
    password: str


class Booking(AgentState):
    guest: str
    nights: int
    notes: Annotated[list[str], operator.add]


@tool
def who(runtime: ToolRuntime[Any, Booking]) -> str:
    """Tell the guest's name from the state."""
    return f"guest {runtime.state['guest']} for {runtime.state['nights']}"


@tool
def rebook(nights: int, runtime: ToolRuntime[Any, Booking]) -> Command[Any]:
    """Write the number of nights into the state."""
    done = ToolMessage(f"rebooked to {nights}", tool_call_id=runtime.tool_call_id or "")
    return Command(update={"nights": nights, "notes": [f"nights={nights}"], "messages": [done]})


@tool
def weather(city: str) -> str:
    """Weather in a city."""
    return f"rain in {city}"


def test_one_tool_call_makes_five_checkpoints(saver: Any, drive: Drive) -> None:
    agent = create_agent(tool_user("weather", city="Kyiv"), [weather], checkpointer=saver)
    drive(agent.invoke, human("how is it?"), thread())
    history = drive(agent.get_state_history, thread())
    assert [(s.metadata["step"], s.metadata["source"], s.next) for s in reversed(history)] == [
        (-1, "input", ("__start__",)),
        (0, "loop", ("model",)),
        (1, "loop", ("tools",)),
        (2, "loop", ("model",)),
        (3, "loop", ()),
    ]
    ids = [s.config["configurable"]["checkpoint_id"] for s in history]
    parents = [s.parent_config and s.parent_config["configurable"]["checkpoint_id"] for s in history]
    assert parents == [*ids[1:], None]
    assert [len(s.values.get("messages", [])) for s in reversed(history)] == [0, 1, 2, 3, 4]


def test_a_thread_remembers_and_its_neighbour_does_not(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    drive(agent.invoke, human("one"), thread("a"))
    remembered = drive(agent.invoke, human("two"), thread("a"))
    fresh = drive(agent.invoke, human("two"), thread("b"))
    assert texts(remembered["messages"]) == ["one", "1: one", "two", "3: two"]
    assert texts(fresh["messages"]) == ["two", "1: two"]


def test_another_agent_object_continues_the_thread(saver: Any, drive: Drive) -> None:
    drive(create_agent(echo(), checkpointer=saver).invoke, human("one"), thread())
    again = drive(create_agent(echo(), checkpointer=saver).invoke, human("two"), thread())
    assert texts(again["messages"]) == ["one", "1: one", "two", "3: two"]


def test_tools_read_and_write_custom_state_fields(saver: Any, drive: Drive) -> None:
    model = script(
        lambda: calls("who"),
        lambda: calls("rebook", nights=5),
        lambda: calls("who"),
        lambda: says("done"),
    )
    agent = create_agent(model, [who, rebook], state_schema=Booking, checkpointer=saver)
    start = {**human("move my stay"), "guest": "Olena", "nights": 2, "notes": ["new"]}
    drive(agent.invoke, start, thread())
    state = drive(agent.get_state, thread()).values
    assert texts([m for m in state["messages"] if m.type == "tool"]) == [
        "guest Olena for 2",
        "rebooked to 5",
        "guest Olena for 5",
    ]
    assert (state["guest"], state["nights"], state["notes"]) == ("Olena", 5, ["new", "nights=5"])
    # A next run that names no field finds those of the last one.
    after = drive(agent.invoke, human("and now?"), thread())
    assert (after["guest"], after["nights"]) == ("Olena", 5)


def test_each_checkpoint_keeps_the_field_as_it_was(saver: Any, drive: Drive) -> None:
    model = script(lambda: calls("rebook", nights=9), lambda: says("done"))
    agent = create_agent(model, [rebook], state_schema=Booking, checkpointer=saver)
    drive(agent.invoke, {**human("x"), "nights": 1, "notes": []}, thread())
    history = drive(agent.get_state_history, thread())
    assert [s.values.get("nights") for s in reversed(history)] == [None, 1, 1, 9, 9]


def test_parallel_tool_calls_keep_their_order(saver: Any, drive: Drive) -> None:
    cities = ["Lviv", "Odesa", "Kharkiv", "Dnipro", "Poltava"]
    model = script(lambda: calls_all(*[("weather", {"city": city}) for city in cities]), lambda: says("ok"))
    agent = create_agent(model, [weather], checkpointer=saver)
    drive(agent.invoke, human("all?"), thread())
    messages = drive(agent.get_state, thread()).values["messages"]
    assert texts(messages[2:-1]) == [f"rain in {city}" for city in cities]
    assert [m.tool_call_id for m in messages[2:-1]] == [c["id"] for c in messages[1].tool_calls]


def test_hooks_write_state(saver: Any, drive: Drive) -> None:
    class Counting(AgentState):
        before: Annotated[int, operator.add]
        after: Annotated[int, operator.add]

    @before_model(state_schema=Counting)
    def count_before(state: Any, runtime: Any) -> dict[str, Any]:
        return {"before": 1}

    @after_model(state_schema=Counting)
    def count_after(state: Any, runtime: Any) -> dict[str, Any]:
        return {"after": 10}

    agent = create_agent(
        tool_user("weather", city="Kyiv"), [weather],
        middleware=[count_before, count_after], checkpointer=saver,
    )  # fmt: skip
    for _ in range(2):
        drive(agent.invoke, human("?"), thread())
    values = drive(agent.get_state, thread()).values
    assert (values["before"], values["after"]) == (4, 40)
    assert len(values["messages"]) == 8


def test_a_hook_jumps_to_the_end(saver: Any, drive: Drive) -> None:
    @before_model(can_jump_to=["end"])
    def stop(state: Any, runtime: Any) -> dict[str, Any] | None:
        if len(state["messages"]) > 2:
            return {"jump_to": "end", "messages": [AIMessage("enough")]}
        return None

    agent = create_agent(echo(), middleware=[stop], checkpointer=saver)
    for text in ("one", "two"):
        drive(agent.invoke, human(text), thread())
    state = drive(agent.get_state, thread())
    assert (texts(state.values["messages"])[-1], state.next) == ("enough", ())


def test_remove_message_in_a_hook(saver: Any, drive: Drive) -> None:
    @after_model
    def trim(state: Any, runtime: Any) -> dict[str, Any] | None:
        old = state["messages"][:-2]
        return {"messages": [RemoveMessage(id=m.id) for m in old]} if old else None

    agent = create_agent(echo(), middleware=[trim], checkpointer=saver)
    for text in ("one", "two", "three"):
        drive(agent.invoke, human(text), thread())
    history = drive(agent.get_state_history, thread())
    assert texts(history[0].values["messages"]) == ["three", "3: three"]
    # Removing changes no earlier checkpoint.
    kept = [texts(s.values.get("messages", [])) for s in history]
    assert ["two", "3: two", "three", "3: three"] in kept
    assert ["one", "1: one"] in kept


def test_remove_all_messages_starts_over(saver: Any, drive: Drive) -> None:
    @before_model
    def reset(state: Any, runtime: Any) -> dict[str, Any] | None:
        if len(state["messages"]) < 4:
            return None
        summary = SystemMessage("what was said before", id="summary")
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, state["messages"][-1]]}

    agent = create_agent(echo(), middleware=[reset], checkpointer=saver)
    for text in ("one", "two", "three"):
        drive(agent.invoke, human(text), thread())
    history = drive(agent.get_state_history, thread())
    assert kinds(history[0].values["messages"]) == ["system", "human", "ai"]
    assert ["one", "1: one", "two", "3: two"] in [texts(s.values.get("messages", [])) for s in history]


def test_langchain_summarization_middleware(saver: Any, drive: Drive) -> None:
    summarize = SummarizationMiddleware(
        model=script(lambda: says("SUMMARY")), trigger=("messages", 6), keep=("messages", 2)
    )
    agent = create_agent(echo(), middleware=[summarize], checkpointer=saver)
    for n in range(6):
        drive(agent.invoke, human(f"fact {n}"), thread())
    messages = drive(agent.get_state, thread()).values["messages"]
    assert len(messages) < 12
    assert "SUMMARY" in messages[0].text
    assert messages[-2].text == "fact 5"


def test_call_limit_counts_across_runs_of_the_thread(saver: Any, drive: Drive) -> None:
    limit = ModelCallLimitMiddleware(thread_limit=2, exit_behavior="end")
    agent = create_agent(echo(), middleware=[limit], checkpointer=saver)
    for text in ("one", "two", "three"):
        drive(agent.invoke, human(text), thread())
    messages = drive(agent.get_state, thread()).values["messages"]
    assert "limit" in messages[-1].text.lower()
    assert drive(agent.invoke, human("other"), thread("u"))["messages"][-1].text == "1: other"


def test_human_in_the_loop_middleware(saver: Any, drive: Drive) -> None:
    approve = HumanInTheLoopMiddleware(interrupt_on={"weather": True})
    agent = create_agent(
        tool_user("weather", city="Kyiv"), [weather], middleware=[approve], checkpointer=saver
    )
    paused = drive(agent.invoke, human("?"), thread())
    (asked,) = paused["__interrupt__"]
    assert asked.value["action_requests"][0]["name"] == "weather"
    (pending,) = drive(agent.get_state, thread()).interrupts
    assert pending == asked
    edited = {"name": "weather", "args": {"city": "Lviv"}}
    decision = {"decisions": [{"type": "edit", "edited_action": edited}]}
    done = drive(agent.invoke, Command(resume=decision), thread())
    assert done["messages"][-1].text.endswith("rain in Lviv")
    assert drive(agent.get_state, thread()).interrupts == ()


def test_structured_response_is_part_of_the_state(saver: Any, drive: Drive) -> None:
    schema = {
        "title": "answer", "type": "object", "description": "An answer.",
        "properties": {"city": {"type": "string"}, "rain": {"type": "boolean"}},
    }  # fmt: skip
    model = script(lambda: calls("answer", city="Kyiv", rain=True))
    agent = create_agent(model, response_format=ToolStrategy(schema), checkpointer=saver)
    drive(agent.invoke, human("?"), thread())
    state = drive(agent.get_state, thread()).values
    assert state["structured_response"] == {"city": "Kyiv", "rain": True}


def test_context_is_never_stored(saver: Any, drive: Drive) -> None:
    seen: list[str] = []

    @tool
    def login(runtime: ToolRuntime[Secrets, Any]) -> str:
        """Log in."""
        seen.append(runtime.context.password)
        return "in"

    agent = create_agent(tool_user("login"), [login], context_schema=Secrets, checkpointer=saver)
    drive(agent.invoke, human("go"), thread(), context=Secrets("hunter2"))
    assert seen == ["hunter2"]
    stored = drive(saver.list, thread())
    assert len(stored) == 5
    assert "hunter2" not in repr(stored)
    with pytest.raises((AttributeError, TypeError)):  # the next run has to bring its own
        drive(agent.invoke, human("again"), thread())


@pytest.mark.parametrize("form", ["message", "dict", "tuple", "text"])
def test_input_in_every_form(saver: Any, drive: Drive, form: str) -> None:
    forms: dict[str, Any] = {
        "message": HumanMessage("hi"),
        "dict": {"role": "user", "content": "hi"},
        "tuple": ("user", "hi"),
        "text": "hi",
    }
    agent = create_agent(echo(), checkpointer=saver)
    drive(agent.invoke, {"messages": [forms[form]]}, thread())
    messages = drive(agent.get_state, thread()).values["messages"]
    assert (kinds(messages), texts(messages)) == (["human", "ai"], ["hi", "1: hi"])
    assert all(m.id for m in messages)


def test_overwrite_replaces_a_reduced_field(saver: Any, drive: Drive) -> None:
    @tool
    def clear(runtime: ToolRuntime[Any, Booking]) -> Command[Any]:
        """Forget the notes."""
        done = ToolMessage("cleared", tool_call_id=runtime.tool_call_id or "")
        return Command(update={"notes": Overwrite(["blank"]), "messages": [done]})

    agent = create_agent(tool_user("clear"), [clear], state_schema=Booking, checkpointer=saver)
    drive(agent.invoke, {**human("x"), "notes": ["a", "b"]}, thread())
    history = drive(agent.get_state_history, thread())
    assert history[0].values["notes"] == ["blank"]
    assert history[2].values["notes"] == ["a", "b"]


def test_usage_and_ids_of_messages_survive(saver: Any, drive: Drive) -> None:
    agent = create_agent(tool_user("weather", city="Kyiv"), [weather], checkpointer=saver)
    result = drive(agent.invoke, human("?", "h1"), thread())
    stored = drive(create_agent(echo(), checkpointer=saver).get_state, thread()).values["messages"]
    assert stored == result["messages"]
    assert [type(m) for m in stored] == [HumanMessage, AIMessage, ToolMessage, AIMessage]
    assert stored[0].id == "h1"
    assert stored[1].usage_metadata["input_tokens"] == 10
