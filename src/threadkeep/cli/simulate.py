"""`threadkeep simulate`: what each policy would have sent, and what that would have cost."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from threadkeep.cli import options
from threadkeep.cli.app import app
from threadkeep.cli.opening import opened
from threadkeep.cli.output import Column, print_json, print_table, progress, remark, stdout
from threadkeep.cli.text import counted, one_line, shown_id
from threadkeep.context.policies.parsing import parse_policy
from threadkeep.context.simulation.simulating import DEFAULT_POLICIES
from threadkeep.context.simulation.simulating import simulate as simulated
from threadkeep.context.simulation.simulation import Reach, SimulatedPolicy, Simulation
from threadkeep.errors import ConfigurationError

_FILES = (".json", ".jsonl")
_LOCAL_WINDOW = 2_048
"""Tokens of prompt and answer that the demo model is given to summarise in."""


@app.command()
def simulate(
    conversation: Annotated[
        str,
        typer.Argument(
            metavar="THREAD|FILE",
            help="A thread's id, or a JSON file of messages in the form of OpenAI, Anthropic or LangChain.",
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="TEXT",
            help="A policy such as window:messages=20 or summary-buffer:tokens=2000,keep=10; several may be given.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="PROVIDER:NAME",
            help="The model meant, for tokens, prices and the cache; by default the recorded one.",
        ),
    ] = None,
    overhead: Annotated[
        int | None,
        typer.Option(
            "--overhead",
            metavar="TOKENS",
            parser=options.whole,
            help="Tokens of system prompt and tools in each call, where they were not recorded.",
        ),
    ] = None,
    with_model: Annotated[
        str | None,
        typer.Option(
            "--with-model",
            metavar="PROVIDER:NAME",
            help="A model that writes real summaries, or local; without it they are filler of their configured size.",
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option(
            "--chart", metavar="PATH", help="Draw input tokens per turn into an .html or .png file."
        ),
    ] = None,
    db: options.Database = options.DB,
    owner: options.Owner = "",
    as_json: options.Json = False,
) -> None:
    """Show what a conversation would have cost under policies.

    It is replayed without calling its model.
    Answers are held fixed. What was not recorded, such as the system prompt of an imported file, enters as a
    constant and is marked "inferred".
    """
    texts = list(dict.fromkeys(policy or DEFAULT_POLICIES))
    for text in texts:
        parse_policy(text)
    draw = _drawer(chart)
    found = _run(conversation, texts, _meant(model), overhead, _summarizer(with_model), db, owner)
    if as_json:
        print_json({"owner": owner, **found.to_json()})
    else:
        _print(found)
    if draw is not None and chart is not None:
        draw(found, Path(chart))
        remark(f"The chart is in {chart}.")


def _run(
    conversation: str,
    texts: list[str],
    model: str | None,
    overhead: int | None,
    summarizer: Any,
    db: str,
    owner: str,
) -> Simulation:
    with progress("simulating") as report:
        given: dict[str, Any] = {
            "model": model, "overhead": overhead, "summarizer": summarizer, "progress": report,
        }  # fmt: skip
        if _is_file(conversation):
            try:
                return simulated(Path(conversation), texts, **given)
            except OSError as error:
                raise ConfigurationError(
                    f"cannot read {conversation!r} ({error.strerror or error}); check the path and its permissions"
                ) from None
        with opened(db, owner) as memory:
            return simulated(memory.threads.get(conversation), texts, **given)


def _is_file(conversation: str) -> bool:
    if os.path.isfile(conversation):
        return True
    if conversation.lower().endswith(_FILES):
        raise ConfigurationError(
            f"there is no file {conversation!r}; give a thread's id, or the path of a JSON file of messages"
        )
    return False


def _meant(model: str | None) -> str | None:
    if model is not None and not model.strip():
        raise ConfigurationError("--model is empty; give PROVIDER:NAME, as in openai:gpt-5-mini")
    return model


def _summarizer(name: str | None) -> Any:
    if name is None:
        return None
    from threadkeep.cli.chat_model import LOCAL, choose

    if name != LOCAL:
        return choose(name).model
    from threadkeep.adapters.local import LocalChat

    model = LocalChat(lead=False, window=_LOCAL_WINDOW, max_tokens=128)
    model.load()
    return model


def _drawer(path: str | None) -> Any:
    """Return what draws the chart; all that can be wrong with it is told before the work begins."""
    if path is None:
        return None
    from threadkeep.cli import chart

    return chart.drawer(Path(path))


def _print(found: Simulation) -> None:
    console = stdout()
    console.print(Text(shown_id(found.conversation), style="bold cyan"), soft_wrap=True)
    console.print(Text(" · ".join(_facts(found)), style="dim"), soft_wrap=True)
    console.print()
    _print_costs(found.policies)
    _print_reach(console, "Messages at the last call", [(one.policy, one.messages) for one in found.policies])
    _print_reach(console, "Facts in them", [(one.policy, one.facts) for one in found.policies])
    console.print()
    for name, text in found.inferred.items():
        console.print(Text(f"inferred {name}: {one_line(text)}", style="yellow"), soft_wrap=True)
    for text in found.remarks:
        console.print(Text(text, style="dim"), soft_wrap=True)


def _facts(found: Simulation) -> list[str]:
    recorded = found.recorded
    return [
        counted(found.turns, "turn"),
        counted(found.calls, "call"),
        one_line(found.model or "unknown model"),
        *([f"reported: {recorded.input_tokens:,} input tokens, peak {recorded.peak:,}"] if recorded else []),
        *(
            [f"sent by {', '.join(map(one_line, recorded.policies))}"]
            if recorded and recorded.policies
            else []
        ),
    ]


def _print_costs(policies: tuple[SimulatedPolicy, ...]) -> None:
    priced = any(one.price is not None for one in policies)
    summed = any(one.summaries for one in policies)
    columns = [Column("POLICY", "id"), Column("CALLS", "number"), Column("INPUT", "number")]
    columns += [Column("SUMMARIES", "number")] if summed else []
    columns += [Column(name, "number") for name in ("PER TURN", "PEAK", "CACHED", "EFFECTIVE")]
    columns += [Column("COST", "number")] if priced else []
    print_table(columns, [_cost(one, priced, summed) for one in policies])


def _cost(one: SimulatedPolicy, priced: bool, summed: bool) -> tuple[str, ...]:
    turns = one.input_per_turn
    return (
        one.policy,
        f"{one.model_calls:,}",
        f"{one.total_input_tokens:,}",
        *((f"{one.summary_input_tokens:,}",) if summed else ()),
        f"{round(one.total_input_tokens / max(1, len(turns))):,}",
        f"{one.peak:,}",
        f"{one.cached_share:.0%}",
        f"{one.effective_tokens:,}",
        *((money(one.price),) if priced else ()),
    )


def money(price: Decimal | None) -> str:
    """Return US dollars to a hundredth of a cent, or more where that is nothing."""
    if price is None:
        return "?"
    return f"${price:.4f}" if price >= Decimal("0.01") else f"${price:.6f}"


def _print_reach(console: Console, heading: str, found: list[tuple[str, Reach]]) -> None:
    total = found[0][1].total
    console.print(Text(f"\n{heading}: {total:,}", style="bold"), soft_wrap=True)
    if not total:
        return
    print_table(
        [
            Column("POLICY", "id"),
            *(Column(name, "number") for name in ("IN VIEW", "READABLE", "SUMMARISED", "GONE")),
        ],
        [
            (
                policy,
                f"{one.visible:,}",
                f"{one.reachable:,}",
                f"{one.summarised:,}",
                f"{one.lost:,}",
            )
            for policy, one in found
        ],
    )
