"""What a simulation starts from: model, provider, counting, cache, and what is assumed where nothing was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from threadkeep.context.counting.calibration import Calibration
from threadkeep.context.counting.tokens import Counter
from threadkeep.context.providers import context_window, model_name, provider_of
from threadkeep.context.simulation.cache_models import CacheModel, cache_model
from threadkeep.context.simulation.filler import Summarizer
from threadkeep.context.simulation.overheads import Overheads
from threadkeep.context.simulation.recording import Recording, guessed_overhead
from threadkeep.context.simulation.relearning import Relearning, Sizes
from threadkeep.context.simulation.scaling import Pair, Scale, scale_of

_LEARNED: Final = 12
"""Calls that token counting is calibrated by: as many as a `Calibration` keeps."""


@dataclass(frozen=True, kw_only=True)
class Premises:
    """What all policies of a simulation have in common.

    Args:
        recording: The conversation and its calls.
        name: The model's name.
        provider: The provider's name, for cache and prices.
        rules: Whose rules views obey.
        counter: Estimates what calls take, corrected by all reports there are.
        planning: Counts for the plans, as it was at each call.
        scale: Turns estimates into tokens as the provider reports them.
        cache: How the provider caches.
        window: The model's context window in tokens.
        overheads: Estimates each call's system prompt and tools.
        summarizer: Makes summaries.
        inferred: What was assumed, by name.
    """

    recording: Recording
    name: str | None
    provider: str
    rules: str
    counter: Counter
    planning: Relearning
    scale: Scale
    cache: CacheModel
    window: int | None
    overheads: Overheads
    summarizer: Summarizer
    inferred: Mapping[str, str]


def premises_of(
    recording: Recording, model: Any, provider: str | None, overhead: int | None, summarizer: Any
) -> Premises:
    """Return what a simulation starts from; what is None is taken from the recording.

    Args:
        recording: The conversation and its calls.
        model: The model meant, or its name.
        provider: The provider's name.
        overhead: Tokens of system prompt and tools, where they were not recorded.
        summarizer: A model for real summaries, or its name.
    """
    meant = recording.model if model is None else model
    name = None if meant is None else model_name(meant)
    same = name == recording.model
    said = provider or (recording.provider if same else None) or _provider(meant)
    counter = Counter(meant, _learned(recording) if same else None)
    window = None if meant is None else context_window(meant)
    overheads = Overheads(recording.steps)
    scale = _scale(recording, counter, overheads, overhead, same)
    cache = cache_model(said, name)
    return Premises(
        recording=recording,
        name=name,
        provider=said,
        rules=_rules(provider or (recording.provider if same else None), meant, name),
        counter=counter,
        planning=Relearning(meant, same and recording.learned),
        scale=scale,
        cache=cache,
        window=window,
        overheads=overheads,
        summarizer=Summarizer(counter, window, recording.summaries, summarizer, extracts=recording.extracts),
        inferred=_inferred(recording, scale, cache, overhead, name, same, summarizer is not None),
    )


def _provider(model: Any) -> str:
    if isinstance(model, str) and ":" in model:
        return model.partition(":")[0]
    return "generic" if model is None else provider_of(model).removesuffix("-responses")


def _rules(provider: str | None, model: Any, name: str | None) -> str:
    """Return whose rules views obey: those of the provider that was named or recorded, else the model's."""
    if provider is None:
        return "generic" if model is None else provider_of(model)
    if "bedrock" in provider and "claude" in (name or ""):
        return "anthropic"
    return provider_of(f"{provider}:")


def _learned(recording: Recording) -> Calibration | None:
    """Return how the model counts, by calls of which it was recorded what they were sent."""
    steps = [step for step in recording.steps if step.sent is not None and step.reported]
    chosen = steps[:: max(1, len(steps) // _LEARNED)]
    made, cold = Calibration(), Counter(recording.model)
    for step in chosen:
        count = cold.count(step.sent or (), tools=step.tools, response_format=step.response_format)
        made.learn(recording.model, count.weights, (step.reported.input or 0) if step.reported else 0)
    return made if chosen else None


def _scale(
    recording: Recording, counter: Counter, overheads: Overheads, overhead: int | None, same: bool
) -> Scale:
    guess = 0 if recording.recorded else overhead if overhead is not None else guessed_overhead(recording)
    scale = scale_of(
        _pairs(recording, counter, overheads), guess, fixed=None if recording.recorded else overhead
    )
    return scale if same else Scale(constant=scale.constant)


def _pairs(recording: Recording, counter: Counter, overheads: Overheads) -> dict[int, Pair]:
    """Return what was estimated and reported, of each call that has a report."""
    sizes = Sizes(counter)
    pairs = {}
    for place, step in enumerate(recording.steps):
        if step.reported is None or not step.reported.input:
            continue
        if step.sent is None:
            estimate = sizes.total(recording.messages[: step.end]) + overheads.of(
                place, counter, recalls=False
            )
        else:
            estimate = sizes.total(step.sent) + counter.tools(step.tools, step.response_format)
        pairs[place] = Pair(estimate=estimate, reported=step.reported.input, exact=step.sent is not None)
    return pairs


def _inferred(
    recording: Recording,
    scale: Scale,
    cache: CacheModel,
    overhead: int | None,
    name: str | None,
    same: bool,
    written: bool,
) -> dict[str, str]:
    """Say what was not recorded and what it is taken for."""
    found: dict[str, str] = {}
    steps = recording.steps
    reported = any(step.reported for step in steps)
    if name is None:
        found["model"] = "not known; tokens are those of OpenAI's models (o200k), and there is no price"
    if not recording.recorded:
        how = (
            "as given"
            if overhead is not None
            else "fitted to the usage that was reported"
            if reported
            else "assumed; --overhead says how many"
        )
        found["overhead"] = f"{scale.constant:,} tokens of system prompt and tools in each call, {how}"
    elif any(step.sent is None for step in steps):
        missing = sum(step.sent is None for step in steps)
        found["calls"] = f"of {missing:,} of {len(steps):,} calls it was not recorded what they were sent"
    if not reported:
        found["tokens"] = "estimated, erring high: no usage was reported"
    elif not same:
        found["tokens"] = f"estimated for {name}, erring high: the reports are those of {recording.model}"
    if recording.extracts and not written:
        found["summaries"] = "extracts without a model, as in the recorded calls"
    if any(step.at is None for step in steps) and cache.lifetime is not None:
        found["times"] = (
            f"calls follow each other within the {cache.lifetime:,.0f} seconds that a cached prompt lives"
        )
    if cache.assumed:
        found["cache"] = cache.assumed
    return found
