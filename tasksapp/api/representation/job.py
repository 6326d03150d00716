"""How a job looks from outside. The serializers describe it; plain functions make it."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from rest_framework import serializers

from tasksapp.api.representation.moment import moment
from tasksapp.jobs.creation import Created
from tasksapp.models import Job, Status
from tasksapp.sql.insert_jobs import NewJob


def job_json(job: Job, *, biz_type: str) -> dict[str, Any]:
    """A job, as :class:`JobSerializer` describes it."""
    return {
        "id": str(job.id),
        "biz_type": biz_type,
        "biz_id": job.biz_id,
        "debounce_key": job.debounce_key,
        "status": str(job.status),
        "due_at": moment(job.due_at),
        "next_run_at": moment(job.next_run_at),
        "body": json.loads(job.body),
        "priority": job.priority,
        "attempts": job.attempts,
        "max_attempts": job.max_attempts,
        "system_errors": job.system_errors,
        "version": job.version,
        "last_error": job.last_error,
        "created_at": moment(job.created_at),
        "updated_at": moment(job.updated_at),
        "finished_at": moment(job.finished_at),
    }


def created_json(created: Created, *, biz_type: str) -> dict[str, Any]:
    """A job that was just asked for, as :class:`CreatedJobSerializer` describes it."""
    if created.row is None:
        shown = job_json(created.job, biz_type=biz_type)
    else:
        shown = _new_job_json(created.row, created.birth.now, biz_type)
    return {
        **shown,
        "created": created.created,
        "replaced": created.replaced,
        "armed": created.armed,
        "past_due": created.was_past,
    }


def _new_job_json(row: NewJob, now: datetime, biz_type: str) -> dict[str, Any]:
    """What ``job_json`` says of a job that was inserted just now, without making a model instance of it."""
    due, created = moment(row.due_at), moment(now)
    return {
        "id": str(row.id),
        "biz_type": biz_type,
        "biz_id": row.biz_id,
        "debounce_key": row.debounce_key,
        "status": "pending",
        "due_at": due,
        "next_run_at": due,
        "body": json.loads(row.body),
        "priority": row.priority,
        "attempts": 0,
        "max_attempts": row.max_attempts,
        "system_errors": 0,
        "version": 1,
        "last_error": "",
        "created_at": created,
        "updated_at": created,
        "finished_at": None,
    }


class JobSerializer(serializers.Serializer[Any]):
    """A job."""

    id = serializers.UUIDField()
    biz_type = serializers.CharField()
    biz_id = serializers.CharField(allow_blank=True)
    debounce_key = serializers.CharField(allow_blank=True, help_text="Held until the first attempt begins.")
    status = serializers.ChoiceField(choices=Status.choices)
    due_at = serializers.DateTimeField(help_text="What was asked for.")
    next_run_at = serializers.DateTimeField(help_text="What the clock follows: the due time, or the next retry.")
    body = serializers.JSONField(help_text="Sent to the receiver as it is.")
    priority = serializers.IntegerField()
    attempts = serializers.IntegerField()
    max_attempts = serializers.IntegerField(allow_null=True, help_text="Null: as the biz type says.")
    system_errors = serializers.IntegerField(help_text="Failures on our side; they use no attempts.")
    version = serializers.IntegerField(help_text="Grows with every change by a person or caller.")
    last_error = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class CreatedJobSerializer(JobSerializer):
    """A job that was asked for."""

    created = serializers.BooleanField(help_text="False: an earlier request made it.")
    replaced = serializers.BooleanField(help_text="It waited under the debounce key, and has this content now.")
    armed = serializers.BooleanField(allow_null=True, help_text="Whether its timer is set; if not, it will be soon.")
    past_due = serializers.BooleanField(help_text="Its time had passed already: it fires at once.")
