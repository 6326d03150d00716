"""The Celery task that runs them."""

from __future__ import annotations

import pytest

from tasksapp.errors import TaskRefused
from tasksapp.task_backends.job_backend import run_django_task


def test_a_call_names_one_of_the_two_frameworks() -> None:
    with pytest.raises(TaskRefused, match="no tasks framework 'os'"):
        run_django_task(framework="os", backend="default")
