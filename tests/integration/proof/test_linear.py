"""Histories on a real site: some order explains each; with a mistake in the site none explains some of them."""

from __future__ import annotations

import asyncio

import pytest

from proof.linear import played
from proof.order.drawing import Plan
from proof.order.explaining import shortest_story
from tests.property_sizes import examples


@pytest.mark.nightly  # by day: test_verbs_races.py, test_called_off_races.py, tests/unit/proof/order
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_some_order_explains_each_history() -> None:
    plans = [Plan.drawn(seed) for seed in range(examples(10))]

    found = asyncio.run(played("sqlite", plans, processes=1))

    stories = ["\n".join(shortest_story(one.events)) for one in found if not one.is_explained]
    assert stories == []
    assert len(found) == len(plans)
    assert sum(event.asked.verb == "callback" for one in found for event in one.events) >= len(plans) // 4


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("database", "mistake"),
    [
        ("sqlite", "If-Match is not compared"),
        ("sqlite", "a cancel takes a running job"),
        ("postgresql", "a verb does not lock its row"),
    ],
)
def test_no_order_explains_what_a_site_with_a_mistake_answers(database: str, mistake: str) -> None:
    plans = [Plan.drawn(seed) for seed in range(150)]

    found = asyncio.run(played(database, plans, mistake=mistake))

    stories = [shortest_story(one.events) for one in found if not one.is_explained]
    assert stories
    assert min(map(len, stories)) < 12
