"""What the tests of the commands share: a database with all sorts of things, and ways to run a command."""

from __future__ import annotations

import ctypes
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from typer.testing import CliRunner

import threadkeep
from tests.adapters.kit import script, thread, tool_user
from threadkeep.cli import app

_LOOKS = ("THREADKEEP_", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_")
"""How the names begin of what would change a command's looks or database."""
RED = "a\x1b[31mred\x07"
SURROGATE = "\ud800x"
_PR_CAPBSET_DROP = 24
_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 1, 2


class Shop(TypedDict, total=False):
    """A state without messages."""

    count: int
    note: str
    cart: dict[str, int]
    at: datetime


@tool
def lookup(city: str) -> str:
    """Look a city up."""
    return f"{city}: 12 degrees, light rain"


def make_database(url: str) -> None:
    """Fill a database: an agent's thread, a forked one, one with other values, odd ids, another owner's."""
    with threadkeep.open(url) as memory:
        agent = create_agent(tool_user("lookup", city="Paris"), [lookup], checkpointer=memory.checkpointer)
        for question in ("What is the weather in Paris?", "And tomorrow?"):
            agent.invoke({"messages": [HumanMessage(question)]}, thread("weather"))
        ticket = memory.threads.get("ticket")
        for message in (("human", "My bicycle is green."), ("ai", "Paint it."), ("human", "Thanks!")):
            ticket.append([message])
        ticket.fork(before=ticket.messages()[1].id)
        ticket.append([("ai", "Green is fine.")])
        ticket.update(metadata={"team": "support", "n": 3, "a key": "x=y"})
        shop = StateGraph(Shop)
        shop.add_node("count", lambda state: {"count": state["count"] + 1, "cart": {"tea": state["count"]}})
        shop.add_node("note", lambda state: {"note": "first line\nsecond line", "at": datetime(2026, 1, 2)})
        shop.add_edge(START, "count")
        shop.add_edge("count", "note")
        shop.add_edge("note", END)
        graph = shop.compile(checkpointer=memory.checkpointer)
        graph.invoke({"count": 1, "note": "first line"}, thread("shop"))
        memory.threads.get(RED).append([HumanMessage("control \x1b[31mred\x1b[0m [bold]bold[/bold] :smile:")])
        memory.threads.get(SURROGATE).append([HumanMessage("a lone \udc80 surrogate")])
        memory.threads.get("trailing ").append([HumanMessage("日本語のメッセージです。" * 10)])
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}
        memory.threads.get("image").append([HumanMessage(content=[{"type": "text", "text": "look"}, image])])
        agent = create_agent(script(priced), [], checkpointer=memory.checkpointer)
        agent.invoke({"messages": [HumanMessage("go")]}, thread("priced"))
        memory.as_owner("alice").threads.get("hers").append([HumanMessage("hello")])


def priced() -> AIMessage:
    """An answer whose tokens were partly cached."""
    return AIMessage(
        "done",
        response_metadata={"model_name": "big-model"},
        usage_metadata={
            "input_tokens": 1200,
            "output_tokens": 30,
            "total_tokens": 1230,
            "input_token_details": {"cache_read": 1000},
        },
    )


def run(*args: str, env: Mapping[str, str] | None = None, input: str | None = None) -> Any:
    """Run a command in this process. An exception that is no exit is the test's failure."""
    neutral = dict.fromkeys(name for name in os.environ if name.startswith(_LOOKS))
    result = CliRunner().invoke(app, list(args), env={**neutral, **(env or {})}, input=input)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def said(*args: str, status: int = 0) -> str:
    """Run a command that must end with this status; return what it printed."""
    result = run(*args)
    assert result.exit_code == status, result.output
    return str(result.stdout)


def document(*args: str, status: int = 0) -> Any:
    """Run a command with --json; return what it printed, read again: nothing but JSON, in ASCII."""
    text = said(*args, "--json", status=status)
    assert text.isascii()
    return json.loads(text, parse_constant=lambda name: 1 / 0)


def error(*args: str, env: Mapping[str, str] | None = None) -> str:
    """Run a command that a user's mistake must end; return its one line."""
    result = run(*args, env=env)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert line.isprintable()
    return str(line.removeprefix("Error: "))


def process(
    *args: str, cwd: Path | None = None, unprivileged: bool = False, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, with pipes for all three streams."""
    return subprocess.run(
        command(*args),
        cwd=cwd,
        env=environment(env),
        capture_output=True,
        text=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        timeout=120,
        preexec_fn=_drop_privileges if unprivileged else None,
    )


def command(*args: str) -> list[str]:
    return [sys.executable, "-c", "from threadkeep.cli import main; main()", *args]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This environment without what would change a command's looks or database."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LOOKS)}
    return {**kept, "TERM": "xterm-256color", **(extra or {})}


def _drop_privileges() -> None:
    """Let file permissions hold for root too."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")


def terminal(*args: str, answer: str = "", columns: int = 80) -> tuple[int, str]:
    """Run a command at a terminal, type `answer` once it asks; return its status and what the screen got."""
    child, screen = pty.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(environment({"COLUMNS": str(columns)}))
        os.execv(sys.executable, command(*args))
    seen = b""
    deadline = time.monotonic() + 120
    typed = not answer
    while time.monotonic() < deadline:
        ready, _, _ = select.select([screen], [], [], 1)
        if not ready:
            if typed and answer:
                # What is typed while a prompt sets the terminal up may be thrown away: type it again.
                os.write(screen, answer.encode())
            continue
        try:
            data = os.read(screen, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
        if not typed and b"[y/N]" in seen:
            os.write(screen, answer.encode())
            typed = True
    os.close(screen)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), seen.decode().replace("\r\n", "\n")


_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def unstyled(text: str) -> str:
    """Return a terminal's text without colours."""
    return _STYLE.sub("", text)
