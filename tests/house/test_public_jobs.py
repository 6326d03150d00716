"""What other projects may import from ``tasksapp.jobs``."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

from tasksapp import jobs

TYPES = ["BulkOutcome", "Created", "JobRequest", "MadeLink", "Rejected", "Resolution", "Verb"]
VERBS = [
    "acancel",
    "acreate",
    "apply_many",
    "areschedule",
    "cancel",
    "create",
    "create_many",
    "drop",
    "edit",
    "find_live",
    "follow_up_again",
    "lift",
    "links_of",
    "make_link",
    "redrive",
    "reschedule",
    "resolve",
    "run_again",
    "run_now",
    "withdraw_link",
]


def test_the_public_names_are_these() -> None:
    assert jobs.__all__ == [*TYPES, *VERBS]
    assert jobs.__all__ == sorted(jobs.__all__)


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in jobs.__all__:
        assert inspect.getdoc(getattr(jobs, name)), name
    assert set(jobs.__all__) <= set(dir(jobs))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="postpone"):
        jobs.postpone  # noqa: B018  asked for, to see it refused


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_names_what_it_raises(name: str) -> None:
    doc = inspect.getdoc(getattr(jobs, name)) or ""

    assert re.search(r"Raises\W", doc) or name == "create_many", f"{name} does not say what it raises"


def test_a_models_file_may_import_the_jobs_before_django_is_set_up() -> None:
    subprocess.run([sys.executable, "-c", "from tasksapp import jobs; dir(jobs)"], check=True, timeout=60)
