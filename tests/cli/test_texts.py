"""The small functions behind the commands: texts, options, values, changes."""

from __future__ import annotations

import json
from collections import deque
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from tests.cli.kit import unstyled
from threadkeep.cli import documents, options, output
from threadkeep.cli.changes import changes, same
from threadkeep.cli.text import block, counted, one_line, safe, short_moment, shown_id, size
from threadkeep.cli.transcript import body, heading
from threadkeep.errors import ConfigurationError
from threadkeep.serde import UnknownType

ANY = st.text(st.characters(exclude_categories=()), max_size=30)


class Color(Enum):
    RED = 1


# texts


@given(ANY)
def test_whatever_is_shown_is_printable(text: str) -> None:
    for shown in (safe(text), one_line(text), shown_id(text)):
        shown.encode("utf-8")
        assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u2066\u2028" for c in shown)
    assert "\x1b" not in block(text)


@given(ANY, ANY)
def test_two_ids_never_look_the_same(left: str, right: str) -> None:
    assert (shown_id(left) == shown_id(right)) == (left == right)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("with space", "with space"),
        ("日本 é 👍", "日本 é 👍"),
        (" x", "' x'"),
        ("", "''"),
        ("'x'", "'\\'x\\''"),
        ("a\\b", "a\\b"),
        ("a\\b\n", "'a\\\\b\\n'"),
        ("--all", "'--all'"),
        ("\u202eevil", "'\\u202eevil'"),
        ("\U000e0001", "'\\U000e0001'"),
    ],
)
def test_ids(text: str, shown: str) -> None:
    assert shown_id(text) == shown


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_999, "1.0 MB"),
        (12_345_678, "12.3 MB"),
        (5 * 10**9, "5.0 GB"),
        (2 * 10**15, "2,000.0 TB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_counts() -> None:
    assert [counted(n, "thread") for n in (0, 1, 2000)] == ["0 threads", "1 thread", "2,000 threads"]


def test_a_time_of_another_year_is_its_day() -> None:
    when = datetime(2026, 11, 30, 8, 5, 9).astimezone()
    assert short_moment(when, datetime(2026, 12, 24)) == "11-30 08:05:09"
    assert short_moment(when, datetime(2027, 1, 1)) == "2026-11-30"


# options


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("45m", 2700),
        ("12h", 43200),
        ("30d", 2592000),
        ("2w", 1209600),
        ("1d12h", 129600),
        ("1.5h", 5400),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert options.duration(text, "--older-than") == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "30", "d", "3x", "-3d", "3 days", "1d 2h"])
def test_no_durations(text: str) -> None:
    with pytest.raises(ConfigurationError, match="give a number with a unit"):
        options.duration(text, "--older-than")


def test_since() -> None:
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert options.since("2h", now) == datetime(2026, 11, 30, 10, tzinfo=UTC)
    assert options.since("2026-11-30T08:00+01:00") == datetime(2026, 11, 30, 7, tzinfo=UTC)
    assert options.since("2026-11-30") == datetime(2026, 11, 30).astimezone()
    assert options.since("99999w", now).year < 2026


def test_metadata() -> None:
    assert options.metadata(None) == {}
    assert options.metadata(["a=1", 'b="1"', "c=x=y", "d=", "e=null", "f=[1]"]) == {
        "a": 1,
        "b": "1",
        "c": "x=y",
        "d": "",
        "e": None,
        "f": [1],
    }


# values


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (2**70, 2**70),
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (("a", [1]), ["a", [1]]),
        (deque([1], maxlen=2), [1]),
        ({3, 1}, [1, 3]),
        ({1: "x", "y": 2}, {"1": "x", "y": 2}),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (date(2026, 1, 2), "2026-01-02"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Decimal("1.50"), "1.50"),
        (Path("/x"), "/x"),
        (timedelta(hours=1), "1:00:00"),
        (b"ab", {"type": "bytes", "base64": "YWI="}),
        (UnknownType("shop:Order", b"ab"), {"type": "shop:Order", "base64": "YWI="}),
        (1 + 2j, {"type": "builtins:complex", "repr": "(1+2j)"}),
    ],
)
def test_plain_values(value: Any, plain: Any) -> None:
    assert documents.plain(value) == plain
    json.dumps(documents.plain(value), allow_nan=False)


def test_an_integer_too_long_for_decimals() -> None:
    assert documents.plain(10**5000) == {"type": "int", "hex": hex(10**5000)}


def test_plain_enums_and_messages() -> None:
    assert documents.plain(Color.RED) == {"type": f"{__name__}:Color", "value": 1}
    assert documents.plain([HumanMessage("hi", id="1")])[0]["text"] == "hi"


# messages


def test_every_kind_of_content_is_shown() -> None:
    message = AIMessage(
        [
            "loose",
            {"type": "text", "text": "block"},
            {"type": "thinking", "thinking": "hm"},
            {"type": "reasoning", "summary": [{"text": "so"}]},
            {"type": "tool_use", "name": "again", "id": "1", "input": {}},
            {"type": "image", "base64": "A" * 400, "mime_type": "image/webp"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "A" * 40}},
            {"type": "input_audio", "input_audio": {"data": "A" * 4000, "format": "wav"}},
            {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}},
            {"type": "file", "file_id": "f-1"},
            {"type": "server_tool", "what": "\x1b"},
        ],
        tool_calls=[{"name": "lookup", "args": {"city": "Paris", "n": [1, 2]}, "id": "c"}],
        invalid_tool_calls=[
            {"name": "bad", "args": "{", "id": "d", "error": "x", "type": "invalid_tool_call"}
        ],
    )
    assert [part.plain for part in body(message)] == [
        "loose",
        "block",
        "(thinking) hm",
        '(reasoning) [{"text": "so"}]',
        "[image image/webp, 300 B]",
        "[image image/gif, 30 B]",
        "[input_audio wav, 3.0 kB]",
        "[image_url https://example.org/x.png]",
        "[file f-1]",
        '[server_tool] {"type": "server_tool", "what": "\\u001b"}',
        '→ lookup(city="Paris", n=[1, 2])',
        '→ bad (not readable: "{")',
    ]


def test_headings() -> None:
    assert (
        heading(ToolMessage("x", tool_call_id="1", name="find", status="error"), 7).plain
        == "  7 tool find failed"
    )
    answer = AIMessage("x", usage_metadata={"input_tokens": 1200, "output_tokens": 3, "total_tokens": 1203})
    assert heading(answer, 120).plain == "120 ai  1,200 in, 3 out"


# changes


def test_same_is_exact() -> None:
    assert same(float("nan"), float("nan"))
    assert not same(1, True)
    assert not same(1, 1.0)
    assert not same([1], (1,))
    assert same({"a": [1]}, {"a": [1]})
    assert same(np.arange(3), np.arange(3))
    assert not same(np.arange(3), np.arange(4))
    assert not same(np.zeros(2, "i4"), np.zeros(2, "f4"))


def test_messages_are_compared_by_id_and_without_one_by_content() -> None:
    first, second, third = HumanMessage("a", id="1"), AIMessage("b", id="2"), HumanMessage("c")
    before = {"messages": [first, second, third, third]}
    after = {"messages": [second.model_copy(update={"content": "B"}), first, third]}
    values, messages = changes(before, after)
    assert values == {}
    found = messages["messages"]
    assert [(n, m.text) for n, m in found.removed] == [(4, "c")]
    assert [(n, old.text, new.text) for n, old, new in found.changed] == [(1, "b", "B")]
    assert found.added == []
    assert found.reordered


def test_a_list_that_became_something_else_is_a_value() -> None:
    values, messages = changes({"x": [HumanMessage("a")]}, {"x": "text"})
    assert messages == {}
    assert values["x"].kind == "changed"
    values, messages = changes({}, {"x": []})
    assert values["x"].kind == "added"


# tables


def test_a_table_keeps_ids_whole_and_cuts_texts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    columns = [output.Column("ID", "id"), output.Column("TEXT", "text"), output.Column("N", "number")]
    output.print_table(columns, [("i" * 50, "t" * 200, "1,000"), ("j", "short", "2")])
    first, second, third = (line.rstrip() for line in capsys.readouterr().out.splitlines())
    assert first.split() == ["ID", "TEXT", "N"]
    assert second == "i" * 50 + "  " + "t" * 23 + "…  1,000"
    assert third == "j" + " " * 51 + "short" + " " * 25 + "2"


def test_a_bar_appears_at_a_terminal_when_work_takes_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(output, "_QUIET", 0.0)
    with output.progress("Checking") as report:
        report(1, 4)
        report(2, 4)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Checking" in unstyled(shown.err)
    assert "2/4" in unstyled(shown.err)


def test_no_bar_in_a_pipe_or_for_quick_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with output.progress("Checking") as report:
        report(1, 1)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with output.progress("Checking") as report:
        report(1, 1)
    assert capsys.readouterr() == ("", "")
