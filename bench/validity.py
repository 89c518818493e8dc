"""`python -m bench.validity`: how many requests are invalid, per policy, over random conversations.

Every conversation goes through every policy and every peer. What comes out is looked at by the rules and, as the JSON
that the four providers' packages build, by checkers that know nothing of the rules. A conversation counts once per
provider, whatever is wrong with it; one that makes the package or the policy raise counts as invalid, too.

    python -m bench.validity --histories 20000 --resume validity.json
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, content
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench.peers import KEEP, PEERS, TOKENS
from tests.context.wire import anthropic, chat, gemini, payloads, responses
from threadkeep import context
from threadkeep.testing.histories import random_history, valid_history

CHECKERS: dict[str, Any] = {
    "openai": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
    "google": gemini,
}
KINDS = {"random": random_history, "well-formed": valid_history}


def policies() -> dict[str, context.Policy]:
    """Return the policies that are measured, at the trigger and the keep that the peers have."""
    keep = ("messages", KEEP)
    trigger = ("tokens", TOKENS)
    return {
        "Buffer": context.Buffer(),
        "Window(messages)": context.Window(messages=KEEP),
        "Window(tokens)": context.Window(tokens=TOKENS),
        "Window(turns)": context.Window(turns=3),
        "Summary": context.Summary(trigger=trigger),
        "SummaryBuffer": context.SummaryBuffer(trigger=trigger, keep=keep),
        "HeadTail": context.HeadTail(head=4, tail=10),
        "Offload": context.Offload(trigger=trigger, keep=keep),
        "ToolResults": context.ToolResults(keep=3),
        "Media | ToolResults | SummaryBuffer": context.Media()
        | context.ToolResults(keep=3)
        | context.SummaryBuffer(trigger=trigger, keep=keep),
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, from where the file given ends, and print the table."""
    options = _options(arguments)
    done = _resumed(options)
    ours = policies()
    # The packages ask for the same types at every block, which would take half of the time.
    content.get_type_hints = cache(content.get_type_hints)  # type: ignore[attr-defined]
    console = Console(stderr=True)
    with Progress(console=console) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = progress.add_task("conversations", total=options.histories, completed=done["histories"])
        saved = time.monotonic()
        for number in range(done["histories"], options.histories):
            _measure(options.seed + number, ours, done)
            done["histories"] = number + 1
            progress.update(task, completed=number + 1)
            if options.resume and time.monotonic() - saved > 10:
                _save(options.resume, done)
                saved = time.monotonic()
    if options.resume:
        _save(options.resume, done)
    Console(width=None if sys.stdout.isatty() else 160).print(table(done))
    for what, count in sorted(done["errors"].items()):
        print(f"{count:>7,} × {what}")


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.validity", description=__doc__)
    parser.add_argument(
        "--histories", type=int, default=500, help="how many conversations of each kind (500)"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first conversation's seed (0)")
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="keep the counts here, and go on from there"
    )
    return parser.parse_args(arguments)


def _resumed(options: argparse.Namespace) -> dict[str, Any]:
    if options.resume and options.resume.exists():
        done: dict[str, Any] = json.loads(options.resume.read_text("utf-8"))
        if done["seed"] != options.seed:
            sys.exit(f"{options.resume} was measured with --seed {done['seed']}, not {options.seed}")
        done["invalid"] = Counter(done["invalid"])
        return done
    return {"seed": options.seed, "histories": 0, "invalid": Counter(), "errors": {}}


def _save(path: Path, done: dict[str, Any]) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(done, indent=1), "utf-8")
    fresh.replace(path)


def _measure(seed: int, ours: dict[str, context.Policy], done: dict[str, Any]) -> None:
    invalid = done["invalid"]
    for kind, draw in KINDS.items():
        messages = draw(seed)
        verdicts = _Verdicts()
        for name, policy in ours.items():
            for provider in CHECKERS:
                view = _raised(
                    done, name, lambda p=policy, m=messages, o=provider: p.view(m, provider=o).messages
                )
                bad = view is None or context.validate(view, provider) or verdicts.refused(view, provider)
                invalid[f"{name}/{kind}/{provider}"] += bool(bad)
        theirs = copy.deepcopy(messages)
        for name, peer in PEERS.items():
            sent = _raised(done, name, lambda p=peer, m=theirs: p(m))
            for provider in CHECKERS:
                invalid[f"{name}/{kind}/{provider}"] += sent is None or verdicts.refused(sent, provider)


class _Verdicts:
    """What was found about requests of one conversation: several policies often make the same."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, tuple[int, ...]], tuple[bool, list[BaseMessage]]] = {}

    def refused(self, messages: list[BaseMessage], provider: str) -> bool:
        key = provider, tuple(map(id, messages))
        if key not in self._found:
            # The messages are kept, so that none of their numbers is given to another.
            self._found[key] = is_refused(messages, provider), messages
        return self._found[key][0]


def _raised(
    done: dict[str, Any], name: str, make: Callable[[], Sequence[BaseMessage]]
) -> list[BaseMessage] | None:
    """Return the messages made; None, with a note of the error, where it raised: then there is no request either."""
    try:
        return list(make())
    except Exception as error:
        what = f"{name}: {type(error).__name__}: {str(error)[:100]}"
        done["errors"][what] = done["errors"].get(what, 0) + 1
        return None


def is_refused(messages: list[BaseMessage], provider: str) -> bool:
    """Say whether the provider would refuse what its package builds, or the package raises."""
    try:
        return bool(CHECKERS[provider].findings(payloads.payload(provider, messages)))
    except Exception:
        return True


def table(done: dict[str, Any]) -> Table:
    """Return the numbers of invalid requests, a row per policy and kind of conversation."""
    found = Table(
        title=f"Invalid requests of {done['histories']:,} random and {done['histories']:,} valid conversations"
    )
    found.add_column("policy")
    for kind in KINDS:
        for provider in CHECKERS:
            found.add_column(f"{kind}\n{provider}", justify="right")
    for name in [*policies(), *PEERS]:
        cells = [f"{done['invalid'][f'{name}/{kind}/{p}']:,}" for kind in KINDS for p in CHECKERS]
        found.add_row(name, *cells)
    return found


if __name__ == "__main__":
    main()
