"""What is stored is what was said: nobody's later edit of an object reaches the record."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import UntrackedValue
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from threadkeep.errors import ChangedMessageWarning

from .kit import Chat, Drive, Log, echo, human, texts, thread


def chat(saver: Any, *nodes: Any, state: Any = Chat) -> Any:
    graph = StateGraph(state)
    before = START
    for n, node in enumerate(nodes):
        graph.add_node(f"n{n}", node)
        graph.add_edge(before, f"n{n}")
        before = f"n{n}"
    return graph.compile(checkpointer=saver)


def answer(state: Chat) -> dict[str, Any]:
    return {"messages": [AIMessage(f"re {state['messages'][-1].text}", id=f"a{len(state['messages'])}")]}


def test_editing_what_get_state_gave_changes_nothing(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    drive(agent.invoke, human("one"), thread())
    original = copy.deepcopy(drive(agent.get_state, thread()).values)
    given = drive(agent.get_state, thread()).values["messages"]
    given[0].content = "EDITED"
    given[1].additional_kwargs["secret"] = True
    given.append(HumanMessage("smuggled in"))
    assert drive(agent.get_state, thread()).values == original
    result = drive(agent.invoke, human("two"), thread())
    assert texts(result["messages"]) == ["one", "1: one", "two", "3: two"]


def test_editing_what_a_run_returned_changes_nothing(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    result = drive(agent.invoke, human("one"), thread())
    result["messages"][0].content = "EDITED"
    result["messages"].clear()
    assert texts(drive(agent.get_state, thread()).values["messages"]) == ["one", "1: one"]
    # The run may say that a message of its thread was changed behind its back.
    with warnings.catch_warnings(action="ignore", category=ChangedMessageWarning):
        more = drive(agent.invoke, human("two"), thread())
    assert texts(more["messages"]) == ["one", "1: one", "two", "3: two"]


def test_editing_what_list_and_get_tuple_gave_changes_nothing(saver: Any, drive: Drive) -> None:
    agent = create_agent(echo(), checkpointer=saver)
    drive(agent.invoke, {"messages": [HumanMessage("one", additional_kwargs={"deep": [1]})]}, thread())
    for given in (drive(saver.get_tuple, thread()), drive(saver.list, thread())[0]):
        given.checkpoint["channel_values"]["messages"][0].additional_kwargs["deep"].append(2)
        given.checkpoint["channel_values"]["messages"].pop()
        given.checkpoint["channel_versions"].clear()
        given.metadata["step"] = 99
    again = drive(saver.get_tuple, thread())
    messages = again.checkpoint["channel_values"]["messages"]
    assert messages[0].additional_kwargs == {"deep": [1]}
    assert (len(messages), again.metadata["step"]) == (2, 1)
    assert again.checkpoint["channel_versions"]


def test_editing_the_input_after_the_run_changes_nothing(saver: Any, drive: Drive) -> None:
    message = HumanMessage("one", id="h", additional_kwargs={"tags": ["a"]})
    agent = create_agent(echo(), checkpointer=saver)
    drive(agent.invoke, {"messages": [message]}, thread())
    message.content = "EDITED"
    message.additional_kwargs["tags"].append("b")
    stored = drive(agent.get_state, thread()).values["messages"][0]
    assert (stored.text, stored.additional_kwargs) == ("one", {"tags": ["a"]})
    # The run may say that a message of its thread was changed behind its back.
    with warnings.catch_warnings(action="ignore", category=ChangedMessageWarning):
        assert drive(agent.invoke, human("two"), thread())["messages"][0].text == "one"


def test_one_message_object_in_two_threads(saver: Any, drive: Drive) -> None:
    message = HumanMessage("shared", id="same")
    agent = create_agent(echo(), checkpointer=saver)
    for name in ("a", "b"):
        drive(agent.invoke, {"messages": [message]}, thread(name))
    drive(agent.update_state, thread("a"), {"messages": [HumanMessage("changed", id="same")]})
    assert drive(agent.get_state, thread("a")).values["messages"][0].text == "changed"
    assert drive(agent.get_state, thread("b")).values["messages"][0].text == "shared"


@pytest.mark.stricter
def test_a_message_of_the_open_turn_mutated_in_place(saver: Any, drive: Drive) -> None:
    """Each checkpoint shows the message as it was at that step."""

    def edit(state: Chat) -> dict[str, Any]:
        state["messages"][-1].content += " edited"
        state["messages"][-1].additional_kwargs["edits"] = 1
        return {"messages": []}

    def again(state: Chat) -> dict[str, Any]:
        state["messages"][-2].content += "!"
        return {"messages": [AIMessage("late", id="late")]}

    app = chat(saver, answer, edit, lambda s: {"messages": [AIMessage("x", id="x")]}, again)
    drive(app.invoke, human("q", "q"), thread(), durability="sync")
    history = [texts(s.values.get("messages", [])) for s in drive(app.get_state_history, thread())]
    assert history == [
        ["q", "re q edited!", "x", "late"],
        ["q", "re q edited", "x"],
        ["q", "re q edited"],
        ["q", "re q"],
        ["q"],
        [],
    ]
    assert drive(app.get_state, thread()).values["messages"][1].additional_kwargs == {"edits": 1}


@pytest.mark.stricter
def test_an_older_message_mutated_in_place_keeps_its_record_and_warns(saver: Any, drive: Drive) -> None:
    def tamper(state: Chat) -> dict[str, Any]:
        if len(state["messages"]) > 2:
            state["messages"][0].content = "TAMPERED"
        return {"messages": [AIMessage("ok")]}

    app = chat(saver, tamper)
    drive(app.invoke, human("first", "first"), thread())
    # Messages of earlier turns are compared when a run starts, so the next one tells at the latest.
    with pytest.warns(ChangedMessageWarning, match="'first' of thread 't'"):
        for text in ("second", "third"):
            drive(app.invoke, human(text), thread())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        messages = drive(app.get_state, thread()).values["messages"]
    assert texts(messages) == ["first", "ok", "second", "ok", "third", "ok"]
    assert all("TAMPERED" not in repr(s.values) for s in drive(app.get_state_history, thread()))


def test_a_mutable_field_edited_in_place_is_stored_per_step(saver: Any, drive: Drive) -> None:
    class Cart(TypedDict, total=False):
        cart: dict[str, Any]
        n: int

    def add(state: Cart) -> dict[str, Any]:
        cart = state.get("cart") or {"items": []}
        cart["items"].append(len(cart["items"]))
        return {"cart": cart}

    app = chat(saver, add, add, add, state=Cart)
    drive(app.invoke, {"n": 1}, thread(), durability="sync")
    drive(app.invoke, {"n": 2}, thread(), durability="sync")
    history = drive(app.get_state_history, thread())
    lengths = [len((s.values.get("cart") or {"items": []})["items"]) for s in history]
    assert lengths == [6, 5, 4, 3, 3, 3, 2, 1, 0, 0]


def test_nodes_that_return_copies_or_the_whole_list(saver: Any, drive: Drive) -> None:
    def whole(state: Chat) -> dict[str, Any]:
        return {"messages": [*state["messages"], AIMessage("more")]}

    def copies(state: Chat) -> dict[str, Any]:
        return {"messages": [m.model_copy(deep=True) for m in state["messages"]]}

    app = chat(saver, whole, copies, whole)
    for n in range(3):
        result = drive(app.invoke, human(f"q{n}"), thread())
    assert texts(result["messages"]) == ["q0", "more", "more", "q1", "more", "more", "q2", "more", "more"]
    assert drive(app.get_state, thread()).values["messages"] == result["messages"]


class Private(TypedDict, total=False):
    messages: list[Any]
    password: Annotated[str, UntrackedValue]
    seen: list[str]
    item: int


@pytest.mark.parametrize("mode", ["sync", "async", "exit"])
def test_untracked_values_are_never_stored(saver: Any, drive: Drive, mode: str) -> None:
    def look(state: Private) -> dict[str, Any]:
        return {"seen": [state["password"][:2]]}

    graph = StateGraph(Private)
    graph.add_node("set", lambda s: {"password": "hunter2-from-node"})
    graph.add_node("look", look)
    graph.add_node("sent", lambda s: {"messages": [s["item"]]})
    graph.add_edge(START, "set")
    graph.add_edge("set", "look")
    graph.add_conditional_edges(
        "look", lambda s: [Send("sent", {"item": 1, "password": s["password"]})], ["sent"]
    )
    app = graph.compile(checkpointer=saver, interrupt_before=["sent"])
    drive(app.invoke, {"password": "hunter2-input"}, thread(), durability=mode)
    drive(app.invoke, None, thread(), durability=mode)
    stored = drive(saver.list, thread())
    values = [t.checkpoint["channel_values"] for t in stored]
    assert drive(app.get_state, thread()).values["seen"] == ["hu"]
    assert "password" not in drive(app.get_state, thread()).values
    without_input = [{k: v for k, v in v.items() if k != "__start__"} for v in values]
    assert "hunter2" not in repr(without_input)
    assert "hunter2" not in repr([w for t in stored for w in t.pending_writes])


def test_names_that_look_like_our_own(saver: Any, drive: Drive) -> None:
    odd = {"messages": [], "__root": 1, "state.x": 2, "a b": 3, "ключ": 4, "": 5, "0": 6}
    Odd = TypedDict("Odd", dict.fromkeys(odd, Any), total=False)  # type: ignore[misc]
    graph = StateGraph(Odd)
    graph.add_node("n", lambda state: {"0": state["ключ"]})
    graph.add_edge(START, "n")
    app = graph.compile(checkpointer=saver)
    drive(app.invoke, odd, thread())
    assert drive(app.get_state, thread()).values == {**odd, "0": 4}


def test_the_thread_id_is_plain_text_to_everybody(saver: Any, drive: Drive) -> None:
    """A node may put it into the state, and a caller may serialize the config of a state."""

    def tell(state: Log, config: RunnableConfig) -> dict[str, Any]:
        thread_id = config["configurable"]["thread_id"]
        return {"log": [thread_id, {thread_id: f"{thread_id}!"}]}

    graph = StateGraph(Log)
    graph.add_node("tell", tell)
    graph.add_edge(START, "tell")
    app = graph.compile(checkpointer=saver)
    for _ in range(2):
        drive(app.invoke, {"log": []}, thread("odd id 🙂"))
    state = drive(app.get_state, thread("odd id 🙂"))
    assert state.values["log"] == ["odd id 🙂", {"odd id 🙂": "odd id 🙂!"}] * 2
    assert {type(entry) for entry in state.values["log"]} == {str, dict}
    for config in (state.config, state.parent_config):
        assert json.loads(json.dumps(config)) == config
        assert copy.deepcopy(config) == config
        assert pickle.loads(pickle.dumps(config)) == config
        plain = json.loads(json.dumps(config))
        assert drive(app.get_state, plain).config == drive(app.get_state, config).config
    # A fork addressed by a config that went through JSON is a fork all the same.
    plain = json.loads(json.dumps(state.parent_config))
    fork = drive(app.update_state, plain, {"log": ["forked"]})
    assert drive(app.get_state, json.loads(json.dumps(fork))).values["log"][-1] == "forked"
