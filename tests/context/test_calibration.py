"""Calibration: three reported calls are enough, and a wrong report does no harm."""

from __future__ import annotations

import json
import math
import random

import pytest

from bench.counting import MIXTURES, calibrated_errors, conversation, reported
from bench.samples import KINDS
from bench.tokenizers import MODELS, tokenizer
from threadkeep.context.counting.calibration import KEPT, Calibration
from threadkeep.context.counting.tokens import Counter

VIEWS = {**{kind: (kind, kind, kind) for kind in KINDS}, **MIXTURES}
LOWEST, HIGHEST = -0.06, 0.15


def available(name: str) -> None:
    try:
        tokenizer(name)
    except ImportError as missing:
        pytest.skip(f"the tokenizer is not installed: {missing}")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", [name for name in MODELS if name != "SmolLM2"])
def test_views_are_within_15_percent_after_three_calls(name: str, view: str) -> None:
    available(name)
    errors = calibrated_errors(name, VIEWS[view], every=3)
    assert min(errors) >= LOWEST, errors
    assert max(errors) <= HIGHEST, errors
    assert sum(errors) / len(errors) > 0.0, "estimates err high"


@pytest.mark.model
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_the_local_model_are_within_15_percent(view: str) -> None:
    available("SmolLM2")
    errors = calibrated_errors("SmolLM2", VIEWS[view], every=3)
    assert min(errors) >= LOWEST, errors
    assert max(errors) <= HIGHEST, errors


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["deepseek", "qwen", "cl100k"])
def test_a_model_whose_name_says_nothing_is_learned_too(name: str, kind: str) -> None:
    available(name)
    errors = calibrated_errors(name, (kind, kind, kind), model="house-model-7", every=3)
    assert min(errors) >= -0.10, errors
    assert max(errors) <= HIGHEST + 0.02, errors


def learned(kinds: tuple[str, str, str] = ("English", "Russian", "JSON"), calls: int = 3) -> Calibration:
    calibration = Calibration()
    for place in range(calls):
        seen = conversation(kinds, (place % 6,))
        calibration.learn("gpt-4o", Counter("gpt-4o").count(seen).weights, reported(seen, tokenizer("o200k")))
    return calibration


def error(calibration: Calibration) -> float:
    view = conversation(("English", "Russian", "JSON"), (3, 4, 5))
    return Counter("gpt-4o", calibration).count(view).tokens / reported(view, tokenizer("o200k")) - 1


def test_an_estimate_says_whether_it_is_calibrated() -> None:
    available("o200k")
    view = conversation(("English", "Russian", "JSON"), (3,))
    qualities = [Counter("gpt-4o", learned(calls=calls)).count(view).quality for calls in range(4)]
    assert qualities == ["cold", "cold", "cold", "calibrated"]
    thai = conversation(("Thai", "Thai", "Thai"), (3,))
    assert Counter("gpt-4o", learned()).count(thai).quality == "cold"
    assert Counter("gpt-4", learned()).count(view).quality == "cold", "another model has learned nothing"


@pytest.mark.parametrize("report", [0, -5, 1, 15, 10**9, 2**70, True, None, "300", 12.5, math.nan])
def test_a_report_that_is_no_count_is_refused(report: object) -> None:
    weights = Counter("gpt-4o").count(conversation(("English", "English", "Code"), (0,))).weights
    calibration = Calibration()
    assert calibration.learn("gpt-4o", weights, report) is False  # type: ignore[arg-type]
    assert calibration.factors("gpt-4o") == {}


@pytest.mark.parametrize(
    "weights", [{}, {"latin": math.inf}, {"latin": math.nan}, {"latin": -300.0}, {"klingon": 300.0}]
)
def test_weights_that_are_none_are_refused(weights: dict[str, float]) -> None:
    assert Calibration().learn("gpt-4o", weights, 300) is False


@pytest.mark.parametrize("wrong", [0.35, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("place", range(6))
def test_one_wrong_report_among_five_right_ones_does_no_harm(wrong: float, place: int) -> None:
    available("o200k")
    calibration = Calibration()
    for index in range(6):
        seen = conversation(("English", "Russian", "JSON"), (index,))
        true = reported(seen, tokenizer("o200k"))
        weights = Counter("gpt-4o").count(seen).weights
        calibration.learn("gpt-4o", weights, round(true * wrong) if index == place else true)
    assert -0.05 <= error(calibration) <= 0.15


def test_without_cached_tokens_a_report_is_no_count_of_the_input() -> None:
    available("o200k")
    calibration = learned(calls=6)
    seen = conversation(("English", "Russian", "JSON"), (0, 1, 2, 3))
    before = error(calibration)
    weights = Counter("gpt-4o").count(seen).weights
    for _ in range(3):
        assert not calibration.learn("gpt-4o", weights, round(0.1 * reported(seen, tokenizer("o200k"))))
    assert error(calibration) == before


def test_what_is_rarely_used_is_not_forgotten() -> None:
    available("o200k")
    calibration = learned(("Thai", "Thai", "Thai"))
    factor = calibration.factor("gpt-4o", "thai")
    for _ in range(5):
        for place in range(6):
            seen = conversation(("English", "English", "Code"), (place,))
            calibration.learn(
                "gpt-4o", Counter("gpt-4o").count(seen).weights, reported(seen, tokenizer("o200k"))
            )
    assert "thai" in calibration.known("gpt-4o")
    assert calibration.factor("gpt-4o", "thai") == pytest.approx(factor, rel=0.1)


def test_it_stays_small_and_survives_json() -> None:
    available("o200k")
    calibration = learned(("Russian", "Chinese", "Code"), calls=40)
    written = json.dumps(calibration.to_json(), ensure_ascii=False)
    assert len(written) < 2500
    again = Calibration.from_json(json.loads(written))
    assert again.factors("gpt-4o") == calibration.factors("gpt-4o")
    assert again.to_json() == calibration.to_json()
    assert len(calibration.to_json()["models"]["gpt-4o"]) == KEPT


@pytest.mark.parametrize(
    "damaged",
    [
        None, 3, [], {}, {"version": 2, "models": {}}, {"version": 1}, {"version": 1, "models": []},
        {"version": 1, "models": {"m": "x"}}, {"version": 1, "models": {"m": [3, [], [{"latin": "a"}, 5], [{}, 5]]}},
        {"version": 1, "models": {"m": [[{"latin": 100.0}, True], [{"latin": None}, 100]]}},
    ],
)  # fmt: skip
def test_damaged_json_is_an_empty_calibration(damaged: object) -> None:
    calibration = Calibration.from_json(damaged)
    assert calibration.factors("m") == {}
    assert calibration.factor("m", "latin") == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_factors_are_bounded_and_deterministic_whatever_is_reported(seed: int) -> None:
    chance = random.Random(seed)
    scripts = ["latin", "cyrillic", "han", "digits", "symbols", "space", "fixed"]
    calls = [
        ({script: chance.uniform(0, 500) for script in chance.sample(scripts, 4)}, chance.randrange(1, 4000))
        for _ in range(15)
    ]
    first, second = Calibration(), Calibration()
    for counts, tokens in calls:
        assert first.learn("m", counts, tokens) == second.learn("m", counts, tokens)
        second.factors("m")
    assert first.factors("m") == second.factors("m")
    assert all(0.3 <= factor <= 8.0 for factor in first.factors("m").values())
