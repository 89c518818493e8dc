"""`python -m bench.counting`: how far estimates of tokens are from the truth, cold and after three reported calls."""

from __future__ import annotations

import time
from itertools import combinations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from rich.console import Console

from bench import report
from bench.results import Row, Section
from bench.samples import EXTRA, KINDS
from bench.tokenizers import MODELS, Count, tokenizer
from threadkeep.context.counting.calibration import Calibration
from threadkeep.context.counting.tokens import Counter

WRAPPER = 4
"""Tokens that the reports below add for a message, as chat templates do."""
MIXTURES: dict[str, tuple[str, str, str]] = {
    "English, Russian, JSON": ("English", "Russian", "JSON"),
    "English, Chinese, code": ("English", "Chinese", "Code"),
    "English, Thai, JSON": ("English", "Thai", "JSON"),
    "Japanese, Japanese, code": ("Japanese", "Japanese", "Code"),
}


def reported(messages: list[BaseMessage], count: Count) -> int:
    """Return what a provider with this tokenizer would report."""
    return sum(count(str(message.content)) + WRAPPER for message in messages)


def conversation(kinds: tuple[str, str, str], places: tuple[int, ...]) -> list[BaseMessage]:
    """Return a system prompt, and for each place a question, a tool's result and an answer of the given kinds."""
    system, talk, result = kinds
    messages: list[BaseMessage] = [SystemMessage(KINDS[system][0])]
    for place in places:
        messages.append(HumanMessage(KINDS[talk][place]))
        messages.append(ToolMessage(KINDS[result][place], tool_call_id="c"))
        messages.append(AIMessage(KINDS[talk][-1 - place]))
    return messages


def cold_errors(name: str, kind: str) -> list[float]:
    """Return the relative error of the cold estimate of each passage."""
    counter, count = Counter(MODELS[name]), tokenizer(name)
    return [counter.text(text) / count(text) - 1 for text in {**KINDS, **EXTRA}[kind]]


def calibrated_errors(
    name: str, kinds: tuple[str, str, str], model: str | None = None, every: int = 1
) -> list[float]:
    """Return the relative errors for held-out views after three reported calls with other passages.

    The three are chosen in all 20 ways, or in every second or third of them.
    """
    model = model or MODELS[name]
    count, errors = tokenizer(name), []
    for learned in list(combinations(range(6), 3))[::every]:
        calibration = Calibration()
        held = tuple(place for place in range(6) if place not in learned)
        for place in learned:
            seen = conversation(kinds, (place,))
            calibration.learn(model, Counter(model).count(seen).weights, reported(seen, count))
        view = conversation(kinds, held)
        errors.append(Counter(model, calibration).count(view).tokens / reported(view, count) - 1)
    return errors


def spread(errors: list[float]) -> str:
    """Write the lowest and the highest error."""
    low, high = min(errors), max(errors)
    return f"{low:+.0%}" if len(errors) == 1 else f"{low:+.0%} to {high:+.0%}"


def cold_section() -> Section:
    """Measure cold estimates, by kind of text and tokenizer."""
    rows = [
        Row(cells={"text": kind, **{name: spread(cold_errors(name, kind)) for name in MODELS}})
        for kind in {**KINDS, **EXTRA}
    ]
    return Section(
        name="counting",
        title="Cold estimate beside the true count (passages of 200 to 500 characters)",
        rows=tuple(rows),
    )


def calibrated_section() -> Section:
    """Measure calibrated estimates of held-out views."""
    mixtures = {**{kind: (kind, kind, kind) for kind in KINDS}, **MIXTURES}
    rows = [
        Row(cells={"view": title, **{name: spread(calibrated_errors(name, kinds)) for name in MODELS}})
        for title, kinds in mixtures.items()
    ]
    return Section(
        name="counting", title="After three reported calls, on views with other passages", rows=tuple(rows)
    )


def speed_section() -> Section:
    """Measure how long counting takes."""
    counter = Counter("gpt-4o")
    rows = []
    for kind, texts in KINDS.items():
        text = " ".join(texts)[:1024]
        taken = min(_timed(counter, text) for _ in range(20))
        rows.append(
            Row(
                cells={
                    "text": kind,
                    "µs for 1,024 characters": taken * 1e6,
                    "MB/s": len(text.encode()) / taken / 1e6,
                }
            )
        )
    return Section(name="counting", title="Speed", rows=tuple(rows))


def _timed(counter: Counter, text: str) -> float:
    start = time.process_time()
    for _ in range(50):
        counter.text(text)
    return (time.process_time() - start) / 50


def main() -> None:
    """Print the tables."""
    console = Console()
    for section in (cold_section(), calibrated_section(), speed_section()):
        report.show(section, console)


if __name__ == "__main__":
    main()
