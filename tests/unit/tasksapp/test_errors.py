"""What the verbs refuse: the message is a sentence, and a program finds the facts in attributes."""

from __future__ import annotations

from uuid import UUID

import pytest

from delayhub.errors import DelayHubError
from tasksapp import errors
from tasksapp.errors import JobError

JOB = UUID(int=7)


@pytest.mark.parametrize(
    ("error", "sentence", "attributes"),
    [
        (
            errors.InvalidJob("delay", "negative", "delay must not be negative, got -1"),
            "delay must not be negative, got -1",
            {"field": "delay", "code": "negative"},
        ),
        (errors.InvalidJob(None, "conflict", "either of the two"), "either of the two", {"field": None}),
        (
            errors.TooManyInserts("order.close", retry_after_seconds=1.23456),
            r"order\.close takes no more jobs for 1\.23 s",
            {"retry_after_seconds": 1.23456, "biz_type": "order.close"},
        ),
        (errors.KeyTaken("k-1", JOB), f"'k-1' belongs to another request, which made job {JOB}", {"job_id": JOB}),
        (errors.SeveralJobs("order.close", "42", [JOB, JOB]), "2 live jobs of order.close", {"ids": [JOB, JOB]}),
        (
            errors.WrongState(JOB, verb="cancel", status="running"),
            f"cannot cancel job {JOB}: it is running",
            {"job_id": JOB, "verb": "cancel", "status": "running"},
        ),
        (
            errors.VersionConflict(JOB, asked=1, version=3, status="pending"),
            f"job {JOB} has version 3 and is pending, not version 1: read it again",
            {"asked": 1, "version": 3, "status": "pending"},
        ),
    ],
)
def test_a_message_is_a_sentence_and_its_facts_are_attributes(
    error: JobError, sentence: str, attributes: dict[str, object]
) -> None:
    with pytest.raises(JobError, match=sentence):
        raise error
    assert {name: getattr(error, name) for name in attributes} == attributes


@pytest.mark.parametrize(("error", "usual"), [(errors.InvalidJob, ValueError), (errors.JobNotFound, LookupError)])
def test_code_that_knows_only_pythons_errors_can_catch_these(error: type[Exception], usual: type[Exception]) -> None:
    assert issubclass(error, DelayHubError)
    assert issubclass(error, usual)
