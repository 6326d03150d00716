"""Verbs as values: what each starts from and what it changes."""

from __future__ import annotations

import pytest
from django.utils import timezone

from tasksapp.jobs.verbs import Verb
from tasksapp.models import Job, Status, Transition


@pytest.mark.parametrize(
    ("verb", "source", "target"),
    [
        (Verb.CANCEL, Status.PENDING, Status.CANCELLED),
        (Verb.RESCHEDULE, Status.PENDING, Status.PENDING),
        (Verb.RUN_NOW, Status.PENDING, Status.PENDING),
        (Verb.REDRIVE, Status.DEAD, Status.PENDING),
        (Verb.DROP, Status.DEAD, Status.DROPPED),
    ],
)
def test_a_verb_starts_from_one_status_and_sets_the_one_of_its_transition(
    verb: Verb, source: Status, target: Status
) -> None:
    now = timezone.now()

    assert verb.source == source
    assert verb.values(now=now, due=now)["status"] == target
    assert verb.transition in Transition


@pytest.mark.parametrize("verb", list(Verb))
def test_a_verb_changes_columns_of_a_job_and_always_its_version(verb: Verb) -> None:
    now = timezone.now()

    values = verb.values(now=now, due=now)

    assert set(values) <= {field.name for field in Job._meta.fields}
    assert {"status", "version", "updated_at"} <= set(values)
