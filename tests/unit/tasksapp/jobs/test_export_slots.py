"""Export slots: few at once, half of them for one holder, and each is given back once."""

from __future__ import annotations

from typing import Any

import pytest

from tasksapp.errors import TooManyExports
from tasksapp.jobs.export_slots import ExportSlots


@pytest.fixture
def slots(settings: Any) -> ExportSlots:
    settings.DELAYHUB = {**settings.DELAYHUB, "EXPORTS": 4}
    return ExportSlots()


def test_one_holder_has_half_of_them_and_others_the_rest(slots: ExportSlots) -> None:
    for holder in ("acme", "acme", "zeta"):
        slots.take(holder)

    with pytest.raises(TooManyExports, match="2 exports of yours"):
        slots.take("acme")
    slots.take("ada")
    with pytest.raises(TooManyExports, match="4 exports in this process"):
        slots.take("bob")


def test_a_slot_is_given_back_once(slots: ExportSlots) -> None:
    leave, _ = slots.take("acme"), slots.take("acme")

    leave()
    leave()

    slots.take("acme")
    with pytest.raises(TooManyExports):
        slots.take("acme")


def test_of_one_slot_a_holder_has_the_whole(settings: Any) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "EXPORTS": 1}
    slots = ExportSlots()

    slots.take("acme")()

    slots.take("zeta")
    with pytest.raises(TooManyExports):
        slots.take("acme")
