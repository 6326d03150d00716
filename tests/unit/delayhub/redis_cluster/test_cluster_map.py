"""The map of a cluster, as nodes say it, and by which key a command finds its node."""

from __future__ import annotations

from typing import Any

import pytest
import redis

from delayhub.redis_cluster import Address, ClusterMap, NotExecuted
from delayhub.redis_cluster.cluster_map import key_of

A, B = Address("a", 1), Address("b", 2)


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (("GET", "k"), "k"),
        (("EVALSHA", "sha", 2, "k", "l", "argument"), "k"),
        (("EVAL", "source", 0), None),
        (("INFO", "server"), None),
        (("CONFIG GET", "save"), None),
        (("TIME",), None),
    ],
)
def test_a_command_goes_by_its_first_key(command: tuple[Any, ...], key: str | None) -> None:
    assert key_of(command) == key


def test_a_node_that_is_away_is_passed_over_and_a_slot_without_master_is_said() -> None:
    def ask(node: Address) -> Any:
        if node == A:
            raise redis.ConnectionError("a is away")
        return [[0, 99, [b"", 2, b"id-of-b"], [b"a", 1, b"id-of-a"]]]

    known = ClusterMap([A, B], ask=ask)

    assert known.node_of(99) == B  # an empty host is the one that was asked
    assert known.missing_slots() == 16384 - 100
    with pytest.raises(NotExecuted, match="no node of the cluster serves slot 100"):
        known.node_of(100)


def test_what_a_node_says_of_one_slot_counts_until_the_map_is_learned_again() -> None:
    known = ClusterMap([A], ask=lambda _: [[0, 16383, [b"a", 1]]])
    known.node_of(7)

    known.move(7, to=B)

    assert known._masters[7] == B
    assert known._is_doubted
