"""The door to ``tasksapp.testing``, whose own tests are in tests/integration/tasksapp/testing/test_local_jobs.py."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.apps import apps

from delayhub.errors import JobStoreMissing
from delayhub.testing import advance_jobs, run_due_jobs, without_timers
from delayhub.testing.jobs import bring_jobs_nearer


@pytest.mark.parametrize("call", [run_due_jobs, without_timers, advance_jobs])
def test_a_process_without_the_app_gets_an_error_that_says_what_to_write(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]
) -> None:
    monkeypatch.setattr(apps, "ready", False)

    with pytest.raises(JobStoreMissing, match='add "tasksapp" to INSTALLED_APPS'):
        call()


def test_a_clock_in_such_a_process_moves_no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "ready", False)

    bring_jobs_nearer(timedelta(days=1))  # it would touch the database, which this test may not


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="time does not go back"):
        advance_jobs(minutes=-1)
