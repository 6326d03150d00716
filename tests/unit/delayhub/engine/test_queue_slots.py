"""In which slot a message is, and which numbers of slots there are."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.engine.queue_slots import QueueSlots, declared_number, parse_slots
from delayhub.errors import OptionError


def test_ids_are_spread_and_a_task_with_a_limit_is_in_one_slot() -> None:
    slots = QueueSlots(8, 8, frozenset({"shop.mail"}))
    ids = [f"id-{number}" for number in range(200)]

    assert {slots.slot(each, "shop.close") for each in ids} == set(range(8))
    assert len({slots.slot(each, "shop.mail") for each in ids}) == 1
    assert {QueueSlots(1, 8).slot(each, None) for each in ids} == {0}


def test_a_flow_key_is_in_one_slot_and_keys_are_spread() -> None:
    slots = QueueSlots(8, 8, frozenset({"shop.mail", r"shop.close\u0000"}))
    ids = [f"id-{number}" for number in range(200)]

    assert len({slots.slot(each, "shop.close", "tenant-7") for each in ids}) == 1
    assert {slots.slot("id", "shop.close", each) for each in ids} == set(range(8))
    assert len({slots.slot("id", "shop.mail", each) for each in ids}) == 1  # the task's own limit counts for all


def test_messages_without_a_limit_and_a_flow_key_share_no_slot() -> None:
    slots = QueueSlots(8, 8, frozenset({"shop.mail"}))

    assert slots.shared_slot("shop.close") is None
    assert slots.shared_slot("shop.mail") == slots.slot("any", "shop.mail")
    assert slots.shared_slot("shop.close", "tenant-7") == slots.slot("any", "shop.close", "tenant-7")
    assert QueueSlots(1, 8, frozenset({"shop.mail"})).shared_slot("shop.mail") == 0


@pytest.mark.parametrize("number", [0, 3, 128, -2, "8", True, None, 2.0])
def test_other_numbers_are_refused(number: Any) -> None:
    with pytest.raises(OptionError, match=r"a queue has 1, 2, 4, 8, 16, 32 or 64 slots, got"):
        declared_number({"x-delayhub-slots": number})


def test_a_queue_that_says_nothing_proposes_nothing() -> None:
    assert declared_number({}) is None
    assert declared_number({"x-delayhub-slots": 64}) == 64
    assert parse_slots(None) == QueueSlots(1, 1)
    assert parse_slots(b"2 8") == QueueSlots(2, 8)
