"""What a summarizer that drops everything leaves of the facts, with policies and all."""

from __future__ import annotations

import pytest

from bench import keeping


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sixty_facts_are_in_the_view_or_reachable_from_it(seed: int) -> None:
    messages, facts = keeping.notes(60, seed)
    kept = keeping.ours(messages, facts)
    assert kept.gone == 0
    assert kept.visible > keeping.peers(messages, facts).visible


def test_requests_to_remember_stay_in_the_view_while_they_fit() -> None:
    messages, sentences = keeping.requests(15, 4)
    kept = keeping.ours(messages, sentences)
    assert (kept.visible, kept.gone) == (15, 0)
    assert keeping.peers(messages, sentences).visible < 5


def test_requests_that_do_not_fit_stay_reachable() -> None:
    messages, sentences = keeping.requests(40, 5)
    kept = keeping.ours(messages, sentences)
    assert 15 <= kept.visible < 40
    assert kept.gone == 0
