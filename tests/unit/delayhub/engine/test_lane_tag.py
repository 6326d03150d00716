"""Tags of lanes and slots: no two alike, and a queue's slots evenly over a cluster."""

from __future__ import annotations

from collections import Counter

import pytest
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from delayhub.engine.lane_tag import MAX_SLOTS, queue_of_lane, slot_lane, slot_of, tag


@pytest.mark.parametrize(
    ("lane", "expected"),
    [
        ("celery", "{celery}"),
        # braces would end the tag early
        ("a}b{c", "{a%7Db%7Bc}"),
        # the escape itself is escaped, so that no two lanes share a tag
        ("a%7Db", "{a%257Db}"),
        # Redis takes the text as bytes; nothing else needs care
        ("заказы ☃", "{заказы ☃}"),
    ],
)
def test_a_lane_with_odd_characters_has_a_tag_of_its_own(lane: str, expected: str) -> None:
    assert tag(lane) == expected


@pytest.mark.parametrize("nodes", [1, 2, 4, 8])
@pytest.mark.parametrize("queue", ["celery", "a}b{c", "заказы ☃"])
def test_slots_lie_evenly_over_the_nodes_of_a_cluster(queue: str, nodes: int) -> None:
    tags = [tag(slot_lane(queue, slot)) for slot in range(MAX_SLOTS)]

    for number in (8, 16, 64):
        on = Counter(key_slot(each.encode()) // (REDIS_CLUSTER_HASH_SLOTS // nodes) for each in tags[:number])
        assert set(on.values()) == {number // nodes}
    assert tags[0] == tag(queue)
    assert len(set(tags)) == MAX_SLOTS


def test_no_name_of_a_queue_gives_the_tag_of_a_slot() -> None:
    found = tag(slot_lane("orders", 3))

    assert found == "{orders%s3.49}"  # messages are under it: it may never change
    assert tag(found[1:-1]) != found
    assert queue_of_lane(slot_lane("orders", 3)) == "orders"


def test_slots_are_crc32_of_the_basis_modulo_their_number() -> None:
    assert slot_of("123456789", 8) == 0xCBF43926 % 8  # the check value of CRC-32
