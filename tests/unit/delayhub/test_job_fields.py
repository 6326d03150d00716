"""Each field of a job is on each of its faces, or its rule says where it is not, and why."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import click
import pytest

from delayhub import client, job_fields
from delayhub.cli.job_commands import jobs as job_commands
from delayhub.cli.job_display import job_details
from delayhub.cli.series_commands import series as series_commands
from delayhub.job_fields import fields_of
from tasksapp.admin.frame.fields import APART
from tasksapp.admin.jobs.editing import JobForm
from tasksapp.admin.jobs.page import SHOWN_ELSEWHERE, facts_of
from tasksapp.admin.series.form import SeriesForm
from tasksapp.api.jobs.representation import JobSerializer
from tasksapp.api.jobs.requests import ChangeJobRequestSerializer, JobRequestSerializer
from tasksapp.api.series.requests import SeriesRequestSerializer
from tasksapp.api.series.views import JobSeriesSerializer
from tasksapp.jobs.editing import FREE
from tasksapp.jobs.requests import RULES, JobRequest, fields_on
from tasksapp.jobs.validation import Face
from tasksapp.models import BizType, Job, NewJob
from tasksapp.series.fields import CONTENT, SCHEDULE
from tests.client_models import job_like

#: How the API has exact bytes.
IN_JSON = {"raw": {"body_text", "body_base64"}}


def as_json(names: set[str]) -> set[str]:
    return {other for name in names for other in IN_JSON.get(name, {name})}


def on(face: Face) -> set[str]:
    return set(fields_on(face))


def keys(mapping: type) -> set[str]:
    return {field.name for field in fields_of(mapping)}


def options(group: click.Group, command: str) -> set[str]:
    names = {parameter.name or "" for parameter in group.commands[command].params}
    return names - {"text", "as_json", "profile", "url"}


#: What a series has beside what its jobs carry.
OF_SERIES = {*SCHEDULE, "name", "overlap", "catch_up"}
#: By what it is: the face, the fields that it has, and what else it has.
FACES: dict[str, tuple[Face, set[str], set[str]]] = {
    "POST /jobs": (Face.CREATE, set(JobRequestSerializer().fields), set()),
    "the client's create": (Face.CREATE, keys(job_fields.JobRequest), set()),
    "delayhub jobs create": (Face.CREATE, options(job_commands, "create"), set()),
    "PATCH /jobs": (Face.CHANGE, set(ChangeJobRequestSerializer().fields), {"version"}),
    "the client's change": (Face.CHANGE, keys(job_fields.JobChange), set()),
    "delayhub jobs change": (Face.CHANGE, options(job_commands, "change"), {"job", "version"}),
    "tasksapp.jobs.edit": (Face.CHANGE, {*FREE, "due_at", "delay"}, set()),
    "the task's schedule": (Face.TASK, keys(job_fields.ScheduleOptions), {"biz_type"}),
    "POST /series": (Face.SERIES, set(SeriesRequestSerializer().fields), OF_SERIES),
    "the client's series": (Face.SERIES, {"biz_type", *keys(client.JobSeriesFields)}, OF_SERIES),
    "delayhub series create": (Face.SERIES, options(series_commands, "create"), OF_SERIES),
    "the columns of a series": (Face.SERIES, {"biz_type", "content_type", *CONTENT}, set()),
}


@pytest.mark.parametrize("name", FACES)
def test_each_field_is_on_the_face_or_its_rule_says_why_not(name: str) -> None:
    face, has, others = FACES[name]

    assert as_json(has) - others == as_json(on(face))


def test_an_answer_has_each_field_that_no_rule_keeps_from_it() -> None:
    of_job, of_series = set(JobSerializer().fields), set(JobSeriesSerializer().fields)

    assert on(Face.ANSWER) <= of_job
    assert on(Face.ANSWER) & on(Face.SERIES) <= of_series
    assert of_job == {field.name for field in fields(client.Job)}
    assert of_series == {field.name for field in fields(client.JobSeries)}
    assert of_job.isdisjoint({"delay", "idempotency_key", "debounce_max_wait", "traceparent"})


#: What callers see that is a text; here it is the name of its field.
TEXTS = {name: name for name in on(Face.ANSWER) - {"request"} if NewJob._field_defaults.get(name) == ""}
#: A job that has all that a caller can give.
FULL = NewJob(
    id=UUID(int=7),
    biz_type_id=1,
    due_at=datetime(2027, 1, 31, tzinfo=UTC),
    priority=3,
    max_attempts=4,
    expires_at=datetime(2027, 2, 1, tzinfo=UTC),
)._replace(**TEXTS)


def test_a_person_sees_and_edits_what_callers_see_and_edit() -> None:
    job = Job.of(FULL, now=FULL.due_at)
    job.biz_type = BizType(id=1, code="order.close")

    form = JobForm.of(job, sees_bodies=True)
    shown = {fact.name for fact in facts_of(job, site="admin")}

    assert on(Face.CHANGE) - APART <= set(form.fields)
    assert on(Face.SERIES) - APART - {"biz_type"} <= set(SeriesForm(series=None, sees_body=True).fields)
    assert on(Face.ANSWER) == shown | SHOWN_ELSEWHERE


def test_the_command_line_shows_what_callers_see() -> None:
    given = {field.name: getattr(FULL, field.name) for field in fields(client.Job) if field.name in FULL._fields}
    job = job_like(**given, content_type="text/plain")
    job = replace(job, request={"url": "https://shop.example"})
    names = {name.replace(" ", "_") for name, _ in job_details(job)}

    called = {"due_at": "due", "expires_at": "expires", "max_attempts": "attempts", "request": "own_request"}
    assert {called.get(name, name) for name in on(Face.ANSWER)} <= names


def test_each_field_has_words_and_each_bound_of_a_whole_number_is_that_of_its_rule() -> None:
    for field in fields_of(job_fields.JobRequest):
        rule: Any = RULES[field.name]
        assert field.words, field.name
        assert field.within is None or (rule.least, rule.most) == (field.within.start, field.within.stop - 1)
    assert {field.name for field in fields(JobRequest)} - {"_"} == set(RULES)
    assert [reason for rule in RULES.values() for reason in rule.absent.values() if len(reason) < 10] == []
