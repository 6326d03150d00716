"""``delayhub.beat``: the names that settings have."""

from __future__ import annotations

import pytest
from celery.utils.imports import symbol_by_name

from delayhub import beat


def test_settings_find_the_scheduler_and_a_name_that_there_is_not_is_an_error() -> None:
    assert symbol_by_name("delayhub.beat:Scheduler") is beat.Scheduler

    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        symbol_by_name("delayhub.beat:Nothing")
