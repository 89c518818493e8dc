"""`threadkeep simulate`: tables, JSON, charts, and one line for what cannot be."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from langchain_core.messages import convert_to_openai_messages, messages_to_dict

import threadkeep
from tests.cli.kit import document, error, run, said
from tests.context.simulation_kit import converse
from threadkeep.cli import chart
from threadkeep.context import SummaryBuffer

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with a conversation that was recorded under a policy, and one nobody answered."""
    url = f"sqlite:///{tmp_path_factory.mktemp('simulate') / 'chat.db'}"
    with threadkeep.open(url) as memory:
        converse(memory.threads.get("shop"), SummaryBuffer(trigger=("tokens", 1500)), turns=16)
        memory.threads.get("unanswered").append([("human", "Hello?")])
    return url


@pytest.fixture(scope="module")
def files(url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same conversation as files in two forms."""
    folder = tmp_path_factory.mktemp("files")
    with threadkeep.open(url) as memory:
        messages = list(memory.threads.get("shop").messages())
    (folder / "openai.json").write_text(json.dumps({"messages": convert_to_openai_messages(messages)}))
    (folder / "langchain.json").write_text(json.dumps(messages_to_dict(messages)))
    return folder


def test_a_table_of_the_policies_that_were_asked_for(url: str) -> None:
    text = said("simulate", "shop", "--db", url, "-p", "buffer", "-p", "summary-buffer:tokens=1500")
    lines = text.splitlines()

    assert lines[0] == "shop"
    assert lines[1].startswith("16 turns · ") and "gpt-5-mini · reported: " in lines[1]
    header, first, second = lines[3:6]
    assert header.split() == "POLICY CALLS INPUT PER TURN PEAK CACHED EFFECTIVE COST".split()
    assert (first.split()[0], second.split()[0]) == ("buffer", "summary-buffer:tokens=1500")
    assert first.split()[-1].startswith("$0.")
    assert "Messages at the last call: " in text and "Facts in them: " in text
    assert "inferred summaries: extracts without a model" in text
    assert "Answers are held fixed" in text


def test_a_default_set_of_policies(url: str) -> None:
    text = said("simulate", "shop", "--db", url)
    for name in ("buffer", "window:messages=20", "summary-buffer:tokens=4000", "offload:tokens=4000"):
        assert f"\n{name} " in text


def test_json_has_every_call(url: str) -> None:
    found = document("simulate", "shop", "--db", url, "-p", "summary-buffer:tokens=1500")

    (policy,) = found["policies"]
    assert found["conversation"] == "shop" and found["turns"] == 16 and found["owner"] == ""
    assert len(policy["calls"]) == found["calls"] == found["recorded"]["calls"]
    assert sum(policy["input_per_turn"]) == policy["total_input_tokens"]
    assert policy["input_tokens"] == pytest.approx(found["recorded"]["input_tokens"], rel=0.05)
    assert found["recorded"]["policies"] == ["summary-buffer"]
    assert set(policy["facts"]) == {"total", "visible", "reachable", "summarised", "lost"}


@pytest.mark.parametrize("name", ["openai.json", "langchain.json"])
def test_a_file_before_anything_is_adopted(files: Path, name: str) -> None:
    text = said("simulate", str(files / name), "-p", "window:messages=10", "--model", "openai:gpt-5-mini")
    assert text.splitlines()[0] == name
    assert "inferred overhead: " in text and "$0." in text


def test_overhead_of_a_file_may_be_given(files: Path) -> None:
    path = str(files / "openai.json")
    small, large = (
        document("simulate", path, "-p", "buffer", "--overhead", str(tokens)) for tokens in (0, 1_000)
    )
    more = large["policies"][0]["input_tokens"] - small["policies"][0]["input_tokens"]
    assert more == 1_000 * small["calls"]
    assert "1,000 tokens" in large["inferred"]["overhead"]


def test_charts_as_picture_and_as_page(url: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture, page = tmp_path / "c.png", tmp_path / "c.html"
    for path in (picture, page):
        result = run(
            "simulate", "shop", "--db", url, "-p", "buffer", "-p", "window:messages=8", "--chart", str(path)
        )
        assert result.exit_code == 0 and f"The chart is in {path}." in result.stderr.replace("\n", "")
    assert picture.read_bytes().startswith(PNG) and picture.stat().st_size > 20_000
    html = page.read_text("utf-8")
    assert html.startswith("<!doctype html>") and html.count("<svg") == 1 and html.count("<table>") == 3
    assert "window:messages=8" in html and "inferred summaries:" in html
    # It needs nothing but itself.
    assert "<script" not in html and "<link" not in html and "src=" not in html
    assert "href=" not in html.replace('xlink:href="#', "").replace('href="#', "")


def test_what_strangers_wrote_cannot_leave_the_page(tmp_path: Path, url: str) -> None:
    pytest.importorskip("matplotlib")
    with threadkeep.open(url) as memory:
        memory.threads.get("<b>$x$ 猫").append([("human", "hi"), ("ai", "hello")])
    page = tmp_path / "c.html"
    said("simulate", "<b>$x$ 猫", "--db", url, "-p", "buffer", "--chart", str(page))
    html = page.read_text("utf-8")
    assert "<b>$x$" not in html and "&lt;b&gt;$x$ 猫" in html


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["nobody"], "there is no thread 'nobody'"),
        (["unanswered"], "'unanswered' has no answer of a model"),
        (["none.json"], "there is no file 'none.json'"),
        (["shop", "-p", "windo:messages=3"], "policy 'windo:messages=3': there is no policy 'windo'"),
        (["shop", "-p", "window:messages=x"], "policy 'window:messages=x': messages is 'x'"),
        (["shop", "--chart", "c.gif"], "--chart is 'c.gif'; give a file that ends in .html or .png"),
        (["shop", "--chart", "no/where/c.png"], "there is no folder 'no/where'"),
        (["shop", "--model", " "], "--model is empty"),
        (["shop", "--with-model", "nobody:x"], "model 'nobody:x' is not known"),
    ],
)
def test_what_cannot_be_is_one_line(url: str, args: list[str], line: str) -> None:
    assert line in error("simulate", *args, "--db", url)


def test_a_file_that_is_none_is_one_line(tmp_path: Path, url: str) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('[{"rolle": "user"}]')
    assert "message 0 (counted from 0) cannot be read" in error("simulate", str(bad), "--db", url)
    if os.geteuid():
        bad.chmod(0)
        assert "cannot read" in error("simulate", str(bad), "--db", url)


def test_without_matplotlib_the_install_line_is_said(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart, "find_spec", lambda name: None)
    assert "pip install 'threadkeep[charts]'" in error("simulate", "shop", "--db", url, "--chart", "c.png")
