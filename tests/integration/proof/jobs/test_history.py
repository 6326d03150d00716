"""Histories of jobs with rows: they keep all laws, and those with a mistake in the code do not."""

from __future__ import annotations

import pytest
from django.db import connection

from proof.jobs.history import Player, drawn
from proof.jobs.mutants.table import MUTANTS, ON_POSTGRESQL, made
from proof.jobs.site import Site
from proof.jobs.sometimes import Sometimes
from proof.met import Met
from proof.virtual_time import virtual_time
from tests.property_sizes import FACTOR, examples

#: Of each part of the way; `make mutants` runs all.
FEW = [
    "a claim writes no token",
    "a claim counts no attempt at most once",
    "due jobs are claimed and not handed over",
    "a created job has no timer",
]
#: Histories by day; so many times as many on SQLite come by everything. They are slower on PostgreSQL.
HISTORIES = {"sqlite": 110, "postgresql": 15}
NIGHT = 10

# What crashes leave behind is put right, and that is counted.
pytestmark = pytest.mark.heals


@pytest.mark.timeout(3600)  # two minutes of CPU at night, on a machine that does much else
def test_histories_keep_all_laws(here: Site) -> None:
    met, count = Met(Sometimes), examples(HISTORIES[connection.vendor])
    with virtual_time():
        player = Player(here, met)
        failures = [failure for seed in range(1, count + 1) if (failure := player.play(drawn(seed)))]

    assert [(failure.plan.seed, str(failure.broken)) for failure in failures] == []
    if connection.vendor == "sqlite":
        assert len(met.never) <= (0 if FACTOR >= NIGHT else 5), met.never
    else:
        assert len(met.never) <= (5 if FACTOR >= NIGHT else 30), met.never


@pytest.mark.parametrize("name", FEW)
@pytest.mark.sqlite_only  # the mistakes are those of its side
def test_a_mistake_in_the_code_is_caught_and_told_in_few_lines(here: Site, name: str) -> None:
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == name]

    with made(mutant):
        player = Player(here, Met(Sometimes))
        failure = next(failure for seed in range(1, 200) if (failure := player.play(drawn(seed))))
        shortest = player.shrink(failure)

    assert shortest.broken.kind == failure.broken.kind
    assert len(shortest.story) < 15, "\n".join(shortest.story)


@pytest.mark.postgresql_only
def test_a_mistake_in_a_statement_is_caught(here: Site) -> None:
    (mutant,) = [mutant for mutant in ON_POSTGRESQL if mutant.name == "an outcome counts no attempt on PostgreSQL"]

    with made(mutant):
        player = Player(here, Met(Sometimes))

        assert any(player.play(drawn(seed)) for seed in range(1, 20))


@pytest.mark.sqlite_only
def test_a_history_is_the_same_each_time(here: Site) -> None:
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == "a created job has no timer"]

    with made(mutant):
        player = Player(here, Met(Sometimes))
        seed = next(seed for seed in range(1, 200) if player.play(drawn(seed)))
        stories = [failure.story for _ in range(2) if (failure := player.play(drawn(seed)))]

    assert len(stories) == 2
    assert stories[0] == stories[1]
