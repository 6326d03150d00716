"""Which stamps a revocation means, as callers and command lines write them."""

from __future__ import annotations

from typing import Any

import pytest

from delayhub.celery_support.revocation import has_stamp, listed, wanted_stamps


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"order": "o-1"}, {"order": ["o-1"]}),
        ({"order": ["o-1", "o-2"]}, {"order": ["o-1", "o-2"]}),
        # as celery control passes them on
        (["order=o-1", "order=o-2", "shop=a=b"], {"order": ["o-1", "o-2"], "shop": ["a=b"]}),
    ],
)
def test_stamps_are_taken_as_a_mapping_or_as_texts(given: Any, wanted: dict[str, list[Any]]) -> None:
    assert wanted_stamps(given) == wanted


@pytest.mark.parametrize(
    ("stamps", "found"),
    [
        ({"order": ["o-1"]}, True),
        ({"order": "o-1"}, True),
        ({"order": ["o-2"]}, False),
        ({"shop": ["o-1"]}, False),
        ({}, False),
    ],
)
def test_one_value_under_one_name_is_enough(stamps: dict[str, Any], found: bool) -> None:
    assert has_stamp(stamps, {"order": ["o-1"], "shop": ["s"]}) is found


def test_one_value_is_a_list_of_one() -> None:
    assert (listed("ab"), listed(["a"]), listed({"a"})) == (["ab"], ["a"], ["a"])
