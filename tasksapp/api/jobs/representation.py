"""How a job looks from outside: plain functions make its JSON, serializers describe it, both from ``SHOWN``."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any
from uuid import UUID
from zlib import crc32

from django.db.models import DateTimeField, UUIDField
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from delayhub.api_models import jobs as answers
from delayhub.api_models.problems import FieldError
from tasksapp.api.http.answers import serializer_of, timestamp
from tasksapp.api.http.problems import Problem
from tasksapp.jobs.creation import Created
from tasksapp.jobs.exact_bytes import Shown, shown_bytes
from tasksapp.jobs.masking import as_shown
from tasksapp.jobs.own_request_rule import shown_request
from tasksapp.jobs.requests import fields_on
from tasksapp.jobs.validation import Face
from tasksapp.models import BizType, Job, NewJob, Series
from tasksapp.models.job import FIRST_VALUES
from tasksapp.models.new_job import Carried

#: The columns that callers see, beside the code of the biz type, which comes after the id: what they may give, and
#: what becomes of the job.
SHOWN = (
    "id",
    "status",
    *(name for name in NewJob._fields if name in fields_on(Face.ANSWER)),
    "next_run_at",
    "attempts",
    "redrives",
    "system_errors",
    "version",
    "last_error",
    "series_id",
    "occurrence_at",
    "place",
    "created_at",
    "updated_at",
    "finished_at",
)
#: What callers call a column, where that is not its name.
_CALLED = {"series_id": "series"}


def carried_json(series: Series) -> dict[str, Any]:
    """What a series hands on to its jobs, as they show it."""
    series = as_shown(series)
    found = {name: getattr(series, name) for name in _OF_SERIES}
    shown = {name: value if (show := _show(name)) is None else show(value) for name, value in found.items()}
    return shown | shown_bytes(series.raw, series.request)._asdict()


def job_json(job: Job) -> dict[str, Any]:
    """A job that has its biz type, as :class:`JobSerializer` describes it."""
    job = as_shown(job)
    shown = _json(_of_job(job), job.biz_type.code)
    return shown | (_NO_BYTES if job.raw is None else shown_bytes(job.raw, job.request)._asdict())


def created_text(created: Created) -> str:
    """A job that was just asked for, as :class:`CreatedJobSerializer` describes it, as the text of its JSON."""
    outcome = _outcome(created.created, created.replaced, created.armed, created.was_past)
    if created.row is None or created.row.raw is not None or created.biz_type.masked_fields:
        job = created.job
        job.biz_type = created.biz_type
        shown = _encode(job_json(job))
    else:
        shown = _new_job(created.row, now=created.batch.now, biz_type=created.biz_type.code)
    return f"{shown[:-1]},{outcome[1:]}"


@lru_cache(maxsize=24)
def _outcome(created: bool, replaced: bool, armed: bool | None, past_due: bool) -> str:
    return _encode({"created": created, "replaced": replaced, "armed": armed, "past_due": past_due})


def _new_job(row: NewJob, *, now: datetime, biz_type: str) -> str:
    """A new job as JSON. Its body is shown as it was written: to decode and encode it again takes as long as it is."""
    brought = {**row._asdict(), "body": None, "next_run_at": row.due_at, "created_at": now, "updated_at": now}
    shown = _json([brought[name] if name in brought else FIRST_VALUES[name] for name in SHOWN], biz_type)
    # In the JSON of a text each quote has a backslash before it, so this is found nowhere else.
    return _encode(shown | _NO_BYTES).replace('"body":null', f'"body":{row.body}', 1)


def _json(values: Sequence[Any], biz_type: str) -> dict[str, Any]:
    shown = {"id": None, "biz_type": biz_type}
    for name, show, value in zip(NAMES, _SHOW, values, strict=True):
        shown[name] = value if show is None or value is None else show(value)
    return shown


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

#: Columns that are JSON, and what reads them.
_READ: dict[str, Callable[[Any], Any]] = {"body": json.loads, "request": shown_request}


def _show(name: str) -> Callable[[Any], Any] | None:
    """What makes JSON of a column's values; None where they are JSON already."""
    if name in _READ:
        return _READ[name]
    field: Any = Job._meta.get_field(name)
    if isinstance(field, DateTimeField):
        return timestamp
    # A choice is a member of an enum, or the text of one.
    return str if isinstance(field, UUIDField) or field.choices else None


#: The names of what is shown, in the same order.
NAMES = tuple(_CALLED.get(name, name) for name in SHOWN)
_of_job = attrgetter(*SHOWN)
_SHOW = [_show(name) for name in SHOWN]

#: What is shown of a series' jobs.
_OF_SERIES = [column.attname for column in Carried._meta.concrete_fields if column.attname in SHOWN]
#: What is shown of a job without exact bytes in their place.
_NO_BYTES = Shown()._asdict()


#: The job that OpenAPI shows.
_EXAMPLE = Job.of(
    NewJob(
        id=UUID("01a1fcb9-e182-7773-bac4-bf777e5e56f2"),
        biz_type_id=1,
        due_at=datetime(2027, 1, 31, 8, 30, tzinfo=UTC),
        priority=5,
        biz_id="order-42",
        body='{"order": 42}',
    ),
    now=datetime(2027, 1, 31, 8, tzinfo=UTC),
)
_EXAMPLE.biz_type = BizType(id=1, code="order.close")


#: The same as JSON, as it is read, and as it is answered to who asked for it.
EXAMPLE = job_json(_EXAMPLE)
CREATED = {**EXAMPLE, "created": True, "replaced": False, "armed": True, "past_due": False}
JobSerializer = serializer_of(answers.Job, example=EXAMPLE, order=(*EXAMPLE,))
CreatedJobSerializer = serializer_of(answers.CreatedJob, example=CREATED, order=(*CREATED,))
#: The refusal that OpenAPI shows.
_REFUSED = Problem(
    "invalid",
    "delay may not be negative, got -1",
    errors=[FieldError("delay", "negative", "delay may not be negative, got -1")],
)


@extend_schema_field({"$ref": "#/components/schemas/Problem"})
class _ProblemField(serializers.DictField):
    """A problem document, as a refused request of its own has."""


class BulkResultSerializer(serializers.Serializer[Any]):
    """What became of one job of a bulk: its id and how it was created, or `error`."""

    example: dict[str, Any] = {"id": EXAMPLE["id"], "created": True, "replaced": False, "past_due": False}

    id = serializers.UUIDField(required=False)
    created = serializers.BooleanField(required=False)
    replaced = serializers.BooleanField(required=False)
    past_due = serializers.BooleanField(required=False)
    error = _ProblemField(required=False)


class BulkAnswerSerializer(serializers.Serializer[Any]):
    """What became of the jobs of a bulk."""

    @property
    def example(self) -> dict[str, Any]:
        """One that was created, and one that was refused; not made on import, since a problem's type is an address."""
        refused = {"error": _REFUSED.as_example()}
        return {"created": 1, "refused": 1, "results": [BulkResultSerializer.example, refused]}

    created = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = BulkResultSerializer(many=True, help_text="In the order of the jobs.")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def job_etag(job: Job) -> str:
    """The ETag of a job that was read with its biz type."""
    return etag_of(job.version, job.status, job.updated_at, biz_type=job.biz_type.code)


def etag_of(version: int, status: str, updated_at: datetime, *, biz_type: str) -> str:
    """The ETag of a job with these values. Every write of its row moves ``updated_at``; a code can be renamed."""
    return f'"{version}-{status}-{(updated_at - _EPOCH) // _MICROSECOND:x}-{crc32(biz_type.encode()):x}"'
