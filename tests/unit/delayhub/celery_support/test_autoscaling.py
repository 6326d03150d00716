"""Pools that Celery's autoscaler can change, and those that it cannot."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from delayhub.celery_support.autoscaling import keep_fixed_size, most_at_once


def consumer(*, can_grow: bool, most: int) -> Any:
    pool = SimpleNamespace(limit=2, num_processes=2, **({"grow": lambda _: None} if can_grow else {}))
    autoscaler = SimpleNamespace(max_concurrency=most, min_concurrency=1)
    return SimpleNamespace(pool=pool, controller=SimpleNamespace(autoscaler=autoscaler))


def test_a_pool_that_cannot_grow_keeps_its_size_and_is_warned_of_once() -> None:
    fixed = consumer(can_grow=False, most=6)

    assert "it runs 2 at once. Use prefork, or write -c 6" in str(keep_fixed_size(fixed))

    scaled = fixed.controller.autoscaler
    assert (scaled.min_concurrency, scaled.max_concurrency, most_at_once(fixed)) == (2, 2, 2)
    assert keep_fixed_size(fixed) is None  # as after a reconnect


@pytest.mark.parametrize("most", [6, 2])
def test_a_pool_that_can_grow_is_left_to_the_autoscaler(most: int) -> None:
    scaled = consumer(can_grow=True, most=most)

    assert keep_fixed_size(scaled) is None
    assert most_at_once(scaled) == most


def test_a_worker_without_an_autoscaler_has_nothing_to_keep() -> None:
    plain = consumer(can_grow=False, most=6)
    plain.controller.autoscaler = None

    assert keep_fixed_size(plain) is None
    assert most_at_once(plain) == 2
