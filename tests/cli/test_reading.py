"""The commands that look at threads: what people see, and what programs get."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from langchain.agents import create_agent

import threadkeep
from tests.adapters.kit import human, says, script, thread
from tests.cli.kit import RED, SURROGATE, document, error, run, said

NEWEST_FIRST = ["priced", "image", "trailing ", SURROGATE, RED, "shop", "ticket", "weather"]


def column(text: str, header: str) -> list[str]:
    """Return the cells below a header; they begin where it does."""
    first, *rest = text.splitlines()
    start = first.index(header)
    return [line[start:].split("  ")[0].strip() for line in rest]


# threads


def test_threads_are_listed_latest_first(db: str) -> None:
    text = said("threads", "--db", db)
    assert column(text, "THREAD") == [
        "priced",
        "image",
        "'trailing '",
        "'\\ud800x'",
        "'a\\x1b[31mred\\x07'",
        "shop",
        "ticket",
        "weather",
    ]
    assert "control \\x1b[31mred" in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_threads_as_json(db: str) -> None:
    found = document("threads", "--db", db)
    assert [entry["thread_id"] for entry in found["threads"]] == NEWEST_FIRST
    assert found["cursor"] is None
    weather = found["threads"][-1]
    assert datetime.fromisoformat(weather.pop("created")) < datetime.fromisoformat(weather.pop("updated"))
    assert weather == {
        "thread_id": "weather",
        "owner": "",
        "title": "What is the weather in Paris?",
        "preview": "the tool said: Paris: 12 degrees, light rain",
        "metadata": {},
        "status": "idle",
        "messages": 8,
        "checkpoints": 10,
    }


def test_threads_in_pages(db: str) -> None:
    first = run("threads", "--db", db, "--limit", "3")
    assert "These are the 3 latest; --all lists every one" in first.stderr
    assert len(first.stdout.splitlines()) == 4
    page = document("threads", "--db", db, "--limit", "3")
    rest = document("threads", "--db", db, "--cursor", page["cursor"])
    assert [entry["thread_id"] for entry in page["threads"] + rest["threads"]] == NEWEST_FIRST
    everything = run("threads", "--db", db, "--limit", "3", "--all")
    assert len(everything.stdout.splitlines()) == 9
    assert everything.stderr == ""


def test_all_threads_of_more_than_one_page(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("threadkeep.cli.threads._PAGE", 3)
    assert [t["thread_id"] for t in document("threads", "--db", db, "--all")["threads"]] == NEWEST_FIRST


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (["team=support"], ["ticket"]),
        (["n=3"], ["ticket"]),
        (["team=support", "n=3"], ["ticket"]),
        (["a key=x=y"], ["ticket"]),
        (['n="3"'], []),
        (["team=sales"], []),
    ],
)
def test_threads_by_metadata(db: str, entries: list[str], found: list[str]) -> None:
    options = [part for entry in entries for part in ("--metadata", entry)]
    assert [t["thread_id"] for t in document("threads", "--db", db, *options)["threads"]] == found


def test_threads_since(db: str) -> None:
    with threadkeep.open(db) as memory:
        since = memory.threads.get("image").info().updated
    found = document("threads", "--db", db, "--since", since.astimezone(UTC).isoformat())
    assert [t["thread_id"] for t in found["threads"]] == NEWEST_FIRST[:2]
    assert len(document("threads", "--db", db, "--since", "1d")["threads"]) == len(NEWEST_FIRST)
    assert document("threads", "--db", db, "--since", "2200-01-01")["threads"] == []


def test_threads_of_an_owner(db: str) -> None:
    assert [t["thread_id"] for t in document("threads", "--db", db, "--owner", "alice")["threads"]] == [
        "hers"
    ]


def test_an_owner_without_threads_is_told_where_to_look(db: str) -> None:
    result = run("threads", "--db", db, "--owner", "bob")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert f"No threads of owner 'bob' in {db}; `threadkeep stats` has every owner's." in result.stderr


# show


def test_a_transcript(db: str) -> None:
    text = said("show", "weather", "--db", db)
    head, rest = text.split("\n\n", 1)
    assert head.startswith("weather\n8 messages · 10 checkpoints · idle · updated ")
    assert rest.splitlines()[:6] == [
        "  1 human",
        "    What is the weather in Paris?",
        "  2 ai  10 in, 2 out",
        '    → lookup(city="Paris")',
        "  3 tool lookup",
        "    Paris: 12 degrees, light rain",
    ]


def test_a_transcript_as_json(db: str) -> None:
    found = document("show", "weather", "--db", db, "--last", "7")
    assert found["first"] == 2
    assert found["branch"] == 0
    assert found["thread"]["thread_id"] == "weather"
    call = found["messages"][0]
    tool = found["messages"][1]
    assert list(call) == [
        "type",
        "id",
        "name",
        "text",
        "content",
        "tool_calls",
        "tool_call_id",
        "status",
        "usage",
        "additional_kwargs",
        "response_metadata",
    ]
    assert (call["type"], call["text"], call["usage"]["input_tokens"]) == ("ai", "", 10)
    (request,) = call["tool_calls"]
    assert (request["name"], request["args"], request["id"]) == (
        "lookup",
        {"city": "Paris"},
        tool["tool_call_id"],
    )
    assert (tool["name"], tool["status"], tool["text"]) == (
        "lookup",
        "success",
        "Paris: 12 degrees, light rain",
    )


def test_the_last_messages_keep_their_numbers(db: str) -> None:
    text = said("show", "weather", "--db", db, "--last", "1")
    assert "  8 ai" in text
    assert "  7 tool" not in text


def test_branches_of_a_transcript(db: str) -> None:
    now = said("show", "ticket", "--db", db)
    assert "2 messages · branch 1 (others: 0)" in now
    assert "Green is fine." in now
    assert '{"team": "support", "n": 3, "a key": "x=y"}' in now
    before = said("show", "ticket", "--db", db, "--branch", "0")
    assert "3 messages · branch 0 (others: 1)" in before
    assert "Green is fine." not in before
    found = document("show", "ticket", "--db", db)
    assert [(b["branch"], b["parent"], b["current"]) for b in found["branches"]] == [
        (0, None, False),
        (1, 0, True),
    ]


def test_a_title_of_its_own_is_shown(db: str) -> None:
    with threadkeep.open(db) as memory:
        memory.threads.get("ticket").update(title="Green bicycle")
    assert said("show", "ticket", "--db", db).splitlines()[1] == "Green bicycle"
    assert said("show", "weather", "--db", db).splitlines()[1].startswith("8 messages")


@pytest.mark.parametrize("name", [RED, "trailing ", "image", "priced"])
def test_what_a_message_holds_cannot_upset_a_terminal(db: str, name: str) -> None:
    text = said("show", name, "--db", db)
    assert "\x1b" not in text
    assert "\x07" not in text


def test_controls_and_markup_are_shown_as_they_are(db: str) -> None:
    assert "    control \\x1b[31mred\\x1b[0m [bold]bold[/bold] :smile:\n" in said("show", RED, "--db", db)
    assert "[image_url image/png, 3.0 kB]" in said("show", "image", "--db", db)


def test_the_state_at_a_checkpoint(db: str) -> None:
    text = said("show", "weather", "--db", db, "--checkpoint", "5")
    assert "step 5 · loop · branch 0 · " in text
    state, pending = text.split("waiting to be applied by the next step")
    assert "And tomorrow?" in state
    assert "lookup" not in state.split("And tomorrow?")[1]
    assert 'lookup(city="Paris")' in pending
    assert "branch:to" not in text


def test_the_state_as_json(db: str) -> None:
    found = document("show", "shop", "--db", db, "--checkpoint", "newest")
    assert list(found) == ["thread_id", "owner", "checkpoint", "values", "pending"]
    assert list(found["checkpoint"]) == [
        "checkpoint_id",
        "parent_id",
        "namespace",
        "step",
        "source",
        "branch",
        "messages",
        "created",
        "metadata",
    ]
    assert found["checkpoint"]["step"] == 2
    assert {name: found["values"][name] for name in ("count", "note", "cart", "at")} == {
        "count": 2,
        "note": "first line\nsecond line",
        "cart": {"tea": 1},
        "at": "2026-01-02T00:00:00",
    }


def test_pending_writes_as_json(db: str) -> None:
    found = document("show", "weather", "--db", db, "--checkpoint", "5")
    messages = next(write for write in found["pending"] if write["channel"] == "messages")
    assert messages["value"][0]["tool_calls"][0]["name"] == "lookup"
    assert "branch:to:model" in found["values"]


@pytest.mark.parametrize("beginning", [36, 18])
def test_a_checkpoint_by_its_id_or_the_beginning_of_it(db: str, beginning: int) -> None:
    wanted = document("history", "weather", "--db", db)["checkpoints"][3]["checkpoint_id"]
    found = document("show", "weather", "--db", db, "--checkpoint", wanted[:beginning])
    assert found["checkpoint"]["checkpoint_id"] == wanted


def test_a_step_that_looks_like_an_option(db: str) -> None:
    assert document("show", "weather", "--db", db, "--checkpoint", "-1")["checkpoint"]["step"] == -1


# history


def test_history(db: str) -> None:
    text = said("history", "weather", "--db", db)
    assert text.splitlines()[0].split() == ["STEP", "SOURCE", "MSGS", "MADE", "CHECKPOINT"]
    assert [line.split()[0] for line in text.splitlines()[1:]] == [str(n) for n in range(8, -2, -1)]
    assert max(map(len, text.splitlines())) <= 80


def test_history_of_branches(db: str) -> None:
    text = said("history", "ticket", "--db", db)
    assert "BRANCH" in text
    assert max(map(len, text.splitlines())) <= 80


def test_history_as_json_and_in_pages(db: str) -> None:
    everything = document("history", "weather", "--db", db, "--all")
    assert (everything["thread_id"], everything["owner"], everything["cursor"]) == ("weather", "", None)
    assert [c["step"] for c in everything["checkpoints"]] == list(range(8, -2, -1))
    assert [c["parent_id"] for c in everything["checkpoints"][:-1]] == [
        c["checkpoint_id"] for c in everything["checkpoints"][1:]
    ]
    page = document("history", "weather", "--db", db, "--limit", "4")
    rest = document("history", "weather", "--db", db, "--cursor", page["cursor"])
    assert page["checkpoints"] + rest["checkpoints"] == everything["checkpoints"]
    shown = run("history", "weather", "--db", db, "--limit", "4")
    assert "These are the 4 latest" in shown.stderr


def test_history_of_an_unknown_namespace_is_empty(db: str) -> None:
    result = run("history", "weather", "--db", db, "--namespace", "none")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No checkpoints in namespace 'none'" in result.stderr


# usage


def test_usage_by_model(db: str) -> None:
    text = said("usage", "priced", "--db", db)
    assert text.splitlines()[0].split() == ["MODEL", "CALLS", "INPUT", "OUTPUT", "CACHE", "READ"]
    assert text.splitlines()[1].split() == ["big-model", "1", "1,200", "30", "1,000"]


def test_usage_of_every_call(db: str) -> None:
    assert len(said("usage", "weather", "--db", db, "--calls").splitlines()) == 5


def test_usage_of_several_models_has_a_sum(db: str) -> None:
    with threadkeep.open(db) as memory:
        agent = create_agent(script(lambda: says("again")), [], checkpointer=memory.checkpointer)
        agent.invoke(human("more"), thread("priced"))
    assert said("usage", "priced", "--db", db).splitlines()[-1].split()[:4] == ["all", "2", "1,210", "33"]


def test_usage_as_json(db: str) -> None:
    sums = {
        "input_tokens": 1200,
        "output_tokens": 30,
        "cache_read_tokens": 1000,
        "cache_write_tokens": 0,
        "reasoning_tokens": 0,
    }
    found = document("usage", "priced", "--db", db, "--calls")
    money = {"price": "0", "unknown": 0, "unpriced": 1}
    whole = {"calls": 1, **sums, **money}
    assert found["total"] == {**whole, "total_tokens": 1230, "cached": 0, "purposes": {"answer": whole}}
    assert found["models"] == [{"model": "big-model", "purpose": "answer", "calls": 1, **sums, "price": None}]
    (call,) = found["calls"]
    assert datetime.fromisoformat(call.pop("at")).tzinfo is not None
    assert call.pop("message_id")
    unknown = dict.fromkeys(
        (
            "provider",
            "call_id",
            "run_id",
            "cache_write_tokens",
            "reasoning_tokens",
            "price",
            "price_version",
            "error",
        )
    )
    counted = {
        "model": "big-model",
        "number": 1,
        "purpose": "answer",
        "status": "finished",
        "source": "messages",
    }
    assert call == {**sums, **unknown, **counted, "seconds": None}
    assert document("usage", "priced", "--db", db)["calls"] is None


def test_a_thread_whose_model_reports_nothing(db: str) -> None:
    result = run("usage", "image", "--db", db)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "No model call of this thread reported its tokens." in result.stderr


# stats


def test_stats_are_sorted_by_size(db: str) -> None:
    text = said("stats", "--db", db)
    head, threads, tables = text.split("\n\n")
    assert "on disk · 9 threads · " in head
    assert column(threads, "OWNER").count("alice") == 1
    found = document("stats", "--db", db)
    sizes = [entry["bytes"] for entry in found["threads"]]
    assert sizes == sorted(sizes, reverse=True)
    assert column(threads, "THREAD")[0] == found["threads"][0]["thread_id"]
    assert found["bytes"] == sum(sizes) == sum(table["bytes"] for table in found["tables"].values())
    assert found["rows"] == sum(entry["rows"] for entry in found["threads"])
    assert column(tables, "TABLE") == sorted(
        (name for name, table in found["tables"].items() if table["rows"]),
        key=lambda name: -found["tables"][name]["bytes"],
    )
    assert found["database"]["url"] == db
    assert found["database"]["bytes"] > found["bytes"]


def test_stats_of_one_thread(db: str) -> None:
    found = document("stats", "weather", "--db", db)
    (entry,) = found["threads"]
    assert entry["tables"]["checkpoints"]["rows"] == 10
    assert entry["thread_id"] == "weather"
    assert column(said("stats", "weather", "--db", db), "TABLE")


def test_stats_of_an_owner_and_of_few(db: str) -> None:
    assert [t["thread_id"] for t in document("stats", "--db", db, "--owner", "alice")["threads"]] == ["hers"]
    assert len(document("stats", "--db", db, "--owner", "")["threads"]) == 8
    few = run("stats", "--db", db, "--limit", "2")
    assert "These are the 2 largest of 9 threads; --all shows every one." in few.stderr
    assert len(few.stdout.split("\n\n")[1].splitlines()) == 3
    assert len(said("stats", "--db", db, "--limit", "2", "--all").split("\n\n")[1].splitlines()) == 10


# diff


def test_diff_of_messages(db: str) -> None:
    text = said("diff", "weather", "3", "6", "--db", db)
    assert "step 3 · loop" in text
    assert "messages  2 messages added" in text
    assert "+  5 human\n    And tomorrow?\n+  6 ai" in text
    assert "pregel" not in text
    assert "Paris: 12" not in text


def test_diff_the_other_way_round(db: str) -> None:
    text = said("diff", "weather", "6", "3", "--db", db)
    assert "2 messages removed" in text
    assert "-  5 human" in text


def test_diff_from_the_first_step(db: str) -> None:
    found = document("diff", "weather", "-1", "newest", "--db", db)
    assert found["a"]["step"] == -1
    assert found["b"]["step"] == 8
    change = found["messages"]["messages"]
    assert change["change"] == "added"
    assert [entry["position"] for entry in change["added"]] == list(range(1, 9))
    assert change["added"][0]["message"]["text"] == "What is the weather in Paris?"


def test_diff_across_branches(db: str) -> None:
    tips = [branch["tip"] for branch in document("show", "ticket", "--db", db)["branches"]]
    change = document("diff", "ticket", *tips, "--db", db)["messages"]["messages"]
    assert [entry["message"]["text"] for entry in change["removed"]] == ["Paint it.", "Thanks!"]
    assert [entry["message"]["text"] for entry in change["added"]] == ["Green is fine."]


def test_diff_of_values(db: str) -> None:
    text = said("diff", "shop", "0", "2", "--db", db)
    assert "count  changed\n    - 1\n    + 2\n" in text
    assert "note  changed\n      first line\n    + second line\n" in text
    assert "cart  added\n" in text
    found = document("diff", "shop", "0", "2", "--db", db)
    assert found["channels"]["count"] == {"change": "changed", "before": 1, "after": 2}
    assert found["channels"]["cart"] == {"change": "added", "before": None, "after": {"tea": 1}}
    assert found["messages"] == {}


def test_diff_of_a_changed_message(db: str) -> None:
    with threadkeep.open(db) as memory:
        ticket = memory.threads.get("ticket")
        first = ticket.messages()[0]
        ticket.append([first.model_copy(update={"content": "My bicycle is blue."})])
    forked = document("show", "ticket", "--db", db)["branches"][1]["forked_from"]
    text = said("diff", "ticket", forked, "newest", "--db", db)
    assert "1 message changed, 1 message added" in text
    assert "    - My bicycle is green.\n    + My bicycle is blue.\n" in text


def test_equal_states(db: str) -> None:
    assert "Nothing changed." in said("diff", "weather", "3", "3", "--db", db)
    found = document("diff", "weather", "3", "3", "--db", db)
    assert (found["channels"], found["messages"]) == ({}, {})


# what is not there


@pytest.mark.parametrize(
    "command",
    [
        ("show",),
        ("history",),
        ("usage",),
        ("stats",),
        ("doctor",),
        ("diff", "1", "2"),
        ("show", "--checkpoint", "1"),
    ],
)
def test_an_unknown_thread(db: str, command: tuple[str, ...]) -> None:
    name, *rest = command
    assert error(name, "nope", *rest, "--db", db).startswith(
        "there is no thread 'nope'; `threadkeep threads` lists"
    )


def test_an_unknown_thread_of_an_owner(db: str) -> None:
    assert "there is no thread 'weather' of owner 'alice'" in error(
        "show", "weather", "--db", db, "--owner", "alice"
    )


@pytest.mark.parametrize("wanted", ["zzz", "99", "1f1ecee2-0000-6000-8000-000000000000", ""])
def test_an_unknown_checkpoint(db: str, wanted: str) -> None:
    for line in (
        error("show", "weather", "--db", db, "--checkpoint", wanted),
        error("diff", "weather", wanted, "1", "--db", db),
    ):
        assert line.startswith(f"thread 'weather' has no checkpoint {wanted!r}")
        assert "`threadkeep history weather` lists those it has" in line


def test_a_beginning_or_a_step_that_several_have(db: str) -> None:
    common = document("history", "weather", "--db", db)["checkpoints"][0]["checkpoint_id"][:4]
    line = error("show", "weather", "--db", db, "--checkpoint", common)
    assert f"a checkpoint id that begins with '{common}' 10 times: {common}" in line
    assert line.endswith("and 7 more; give more of the id")
    line = error("diff", "ticket", "1", "0", "--db", db)
    assert "thread 'ticket' has step 1 2 times" in line
    assert "(branch 1)" in line


def test_an_unknown_branch(db: str) -> None:
    assert (
        error("show", "ticket", "--db", db, "--branch", "7") == "thread 'ticket' has no branch 7; it has 0, 1"
    )


@pytest.mark.parametrize("name", ["", "x" * 1025])
def test_an_id_that_none_can_have(db: str, name: str) -> None:
    assert "1 to 1,024 are allowed" in error("show", name, "--db", db)
