"""Histories are drawn by a seed."""

from __future__ import annotations

from proof.order.drawing import FEWEST, MOST, Beginning, Plan
from proof.order.job import VERBS


def test_a_seed_draws_the_same_history_each_time() -> None:
    assert Plan.drawn(7) == Plan.drawn(7)
    assert Plan.drawn(7) != Plan.drawn(8)


def test_all_beginnings_and_verbs_are_drawn_and_half_of_the_changes_name_the_state_they_saw() -> None:
    plans = [Plan.drawn(seed) for seed in range(500)]
    turns = [turn for plan in plans for client in plan.clients for turn in client]

    assert {plan.beginning for plan in plans} == set(Beginning)
    assert {turn.verb for turn in turns} == set(VERBS) - {"callback", "outcome"}
    assert {sum(map(len, plan.clients)) for plan in plans} == set(range(FEWEST, MOST + 1))
    assert 0.4 < sum(turn.condition == "if_match" for turn in turns) / len(turns) < 0.6
