"""Histories on the real scripts: they keep all laws, and those with a mistake in the scripts do not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from delayhub.engine.scripts import names, script
from delayhub.local.redis_server import RedisServer
from proof.earlier_release import EarlierRelease, scripts_of
from proof.messages.history import Player, drawn
from proof.messages.mutants import MUTANTS
from proof.messages.sometimes import Sometimes
from proof.met import Met
from proof.quick_redis import QuickRedis
from proof.virtual_time import virtual_time
from tests.property_sizes import examples

#: Of leases, places in flight, unique keys and the clock; `make mutants` runs all.
FEW = [
    "a late acknowledgement frees what another holds",
    "a lost lease frees no place",
    "a buried message keeps its key",
    "a release wakes nobody",
    "a claim comes one ms early",
]


@pytest.fixture
def client(redis_server: RedisServer, redis_client: redis.Redis) -> Iterator[QuickRedis]:
    """A quick client of the server of ``redis_client``."""
    with QuickRedis(redis_server.port) as made:
        yield made


def test_histories_keep_all_laws(client: QuickRedis) -> None:
    met = Met(Sometimes)
    with virtual_time():
        player = Player(client, met)
        failures = [failure for seed in range(examples(250)) if (failure := player.play(drawn(seed)))]

    assert [(failure.plan.seed, str(failure.broken)) for failure in failures] == []
    assert met.never == []


@pytest.mark.parametrize("seed", [233331, 272085, 293511])
def test_what_a_law_once_took_for_a_fault_keeps_all_laws(client: QuickRedis, seed: int) -> None:
    with virtual_time():
        failure = Player(client, Met(Sometimes)).play(drawn(seed))

    assert failure is None


@pytest.mark.heals  # what the mistakes leave behind
@pytest.mark.parametrize("name", FEW)
def test_a_mistake_in_the_scripts_is_caught_and_told_in_few_lines(client: QuickRedis, name: str) -> None:
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == name]

    with virtual_time(mutant.change):
        player = Player(client, Met(Sometimes))
        failure = next(failure for seed in range(200) if (failure := player.play(drawn(seed))))
        shortest = player.shrink(failure)

    assert shortest.broken.kind == failure.broken.kind
    assert len(shortest.story) < 15, "\n".join(shortest.story)


@pytest.mark.heals  # what the mistake leaves behind
def test_releases_of_which_one_has_a_mistake_are_found_to_break_a_law(client: QuickRedis) -> None:
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == "a lost lease frees no place"]
    with virtual_time(mutant.change):
        theirs = {name: script(name).source for name in names()}

    with virtual_time():
        player = Player(client, Met(Sometimes), EarlierRelease(client, theirs))
        failure = next(failure for seed in range(200) if (failure := player.play(drawn(seed))))

    assert failure.broken.kind


def test_two_releases_without_a_mistake_keep_all_laws(client: QuickRedis) -> None:
    with virtual_time():
        player = Player(client, Met(Sometimes), EarlierRelease(client, scripts_of("HEAD")))
        failures = [failure for seed in range(examples(40)) if (failure := player.play(drawn(seed)))]

    assert [(failure.plan.seed, str(failure.broken)) for failure in failures] == []


def test_a_history_is_the_same_each_time(client: QuickRedis) -> None:
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == "a claim comes one ms early"]

    with virtual_time(mutant.change):
        player = Player(client, Met(Sometimes))
        stories = [failure.story for _ in range(2) if (failure := player.play(drawn(1)))]

    assert len(stories) == 2
    assert stories[0] == stories[1]
