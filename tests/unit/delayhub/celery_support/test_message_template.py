"""The pieces of messages that are made by the thousand: ids, and arguments as Celery shows them."""

from __future__ import annotations

from typing import Any
from uuid import RFC_4122, UUID

import pytest
from celery.utils.saferepr import saferepr

from delayhub.celery_support.message_template import new_ids, shown_args, shown_kwargs


def test_ids_are_uuids_of_chance_like_celerys() -> None:
    ids = new_ids(1000)

    assert len(set(ids)) == 1000
    assert {(UUID(found).version, UUID(found).variant) for found in ids} == {(4, RFC_4122)}
    assert all(str(UUID(found)) == found for found in ids)


@pytest.mark.parametrize(
    "args",
    [
        (),
        (1,),
        [1, 2],
        (True, None, -2.5, 10**40),
        ("text", 1),
        (["deep"], {"a": 1}),
        tuple(range(2000)),
        (float("inf"),),
    ],
)
def test_arguments_are_shown_as_celery_does(args: Any) -> None:
    assert shown_args(args) == saferepr(args, 1024)
    assert shown_kwargs({"value": args}) == saferepr({"value": args}, 1024)
    assert shown_kwargs({}) == saferepr({}, 1024)
