"""The comparison with the peers: what it counts, and that it goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("deepagents")
pytest.importorskip("langchain_google_genai")

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from bench import validity
from bench.peers import PEERS

CALL = AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "call_1"}])


def test_a_measurement_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: policy for name, policy in validity.policies().items() if name == "Window(messages)"}
    monkeypatch.setattr(validity, "policies", lambda: few)
    file = tmp_path / "validity.json"
    for histories in (1, 2):
        validity.main(["--histories", str(histories), "--seed", "13", "--resume", str(file)])
    resumed = json.loads(file.read_text())
    file.unlink()
    validity.main(["--histories", "2", "--seed", "13", "--resume", str(file)])
    assert json.loads(file.read_text()) == resumed
    assert resumed["histories"] == 2
    ours = {name: n for name, n in resumed["invalid"].items() if name.split("/")[0] not in PEERS}
    assert ours
    assert not any(ours.values())
    assert "SummarizationMiddleware" in capsys.readouterr().out


def test_a_file_of_other_seeds_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "validity.json"
    validity.main(["--histories", "0", "--resume", str(file)])
    with pytest.raises(SystemExit, match="--seed 0"):
        validity.main(["--histories", "1", "--seed", "5", "--resume", str(file)])


@pytest.mark.parametrize("provider", validity.CHECKERS)
def test_a_call_left_open_is_counted_and_a_valid_request_is_not(provider: str) -> None:
    done = [HumanMessage("hi"), CALL, ToolMessage("ok", tool_call_id="call_1"), HumanMessage("and?")]
    assert not validity.is_refused(done, provider)
    assert validity.is_refused([*done[:2], HumanMessage("and?")], provider)


@pytest.mark.parametrize("name", PEERS)
def test_the_peers_work_on_a_long_conversation(name: str) -> None:
    messages = [HumanMessage(f"{number} " * 200, id=f"m{number}") for number in range(40)]
    assert 0 < len(PEERS[name](messages)) <= 40
    assert (len(PEERS[name](messages)) < 40) is (name != "everything")
