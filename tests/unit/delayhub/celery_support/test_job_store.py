"""The door between delayed tasks and the app that keeps their jobs: one store a process."""

from __future__ import annotations

from typing import Any, cast

import pytest

from delayhub.celery_support import job_store as module
from delayhub.celery_support.job_store import JobStore, job_store, register_job_store
from delayhub.errors import JobStoreMissing


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module._Registry, "store", None)


def test_without_a_store_the_error_says_how_to_get_one() -> None:
    with pytest.raises(JobStoreMissing, match='add "tasksapp" to INSTALLED_APPS'):
        job_store()


def test_the_last_store_that_was_registered_counts() -> None:
    first, second = (cast("JobStore", object()) for _ in range(2))
    register_job_store(first)
    assert job_store() is first

    register_job_store(second)

    assert job_store() is second


def test_the_timeout_centre_registers_itself_when_django_is_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.apps import apps

    apps.get_app_config("tasksapp").ready()

    found: Any = job_store()
    assert found.__class__.__module__.startswith("tasksapp.")
