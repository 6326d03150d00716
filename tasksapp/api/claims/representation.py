"""How claims of pulled jobs look from outside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from tasksapp.api.http.timestamp import timestamp
from tasksapp.jobs.exact_bytes import shown_bytes
from tasksapp.models import Status
from tasksapp.pulling.held_claim import Ended
from tasksapp.pulling.puller import Claim

OUTCOMES = ("done", "failed", "extended", "released")


def claims_json(claims: Sequence[Claim]) -> bytes:
    """The claims, as :class:`ClaimsSerializer` describes them. Bodies are those of the rows, byte by byte."""
    return f'{{"claims":[{",".join(map(_claim_json, claims))}]}}'.encode()


def _claim_json(claim: Claim) -> str:
    row, biz_type = claim.job.row, claim.job.biz_type
    shown = {
        "token": str(claim.token),
        "lease_until": timestamp(row.lease_until),
        "lease_seconds": claim.lease_seconds,
        "job_id": str(row.id),
        "biz_type": biz_type.code,
        "biz_id": row.biz_id,
        "due_at": timestamp(row.due_at),
        "deadline": timestamp(claim.deadline),
        "attempt": claim.job.attempt_of_budget,
        "max_attempts": row.max_attempts,
        "redrives": row.redrives,
        "headers": claim.headers,
    }
    if row.raw is not None:
        exact = shown_bytes(row.raw, row.request)._asdict()
        shown |= {name: value for name, value in exact.items() if value is not None}
    # The stored text is JSON already; to read and write it again could change it.
    return f'{json.dumps(shown, ensure_ascii=False, separators=(",", ":"))[:-1]},"body":{row.body}}}'


def ended_json(ended: Ended) -> dict[str, Any]:
    """What became of a claim, as :class:`EndedClaimSerializer` describes it."""
    job = ended.job
    return {
        "outcome": ended.outcome,
        "repeated": ended.repeated,
        "job_id": str(job.id),
        "biz_type": job.biz_type.code,
        "biz_id": job.biz_id,
        "status": str(job.status),
        "attempts": job.attempts,
        "next_run_at": timestamp(job.next_run_at),
        "lease_until": timestamp(job.lease_until) if ended.outcome == "extended" else None,
    }


_EXAMPLE_ID = "01a1fcb9-e182-7773-bac4-bf777e5e56f2"


class ClaimSerializer(serializers.Serializer[Any]):
    """A job that its puller holds for a while."""

    example = {
        "token": "AaH8ueGCd3O6xL93fl5W8hOq2pP1c0vT",
        "lease_until": "2027-01-31T08:31:00Z",
        "lease_seconds": 60.0,
        "job_id": _EXAMPLE_ID,
        "biz_type": "report.build",
        "biz_id": "report-42",
        "due_at": "2027-01-31T08:30:00Z",
        "deadline": None,
        "attempt": 1,
        "max_attempts": 16,
        "redrives": 0,
        "headers": {"delayhub-biz-type": "report.build", "webhook-id": _EXAMPLE_ID, "delayhub-attempt": "1"},
        "body": {"report": 42},
    }

    token = serializers.CharField(help_text="Ends or extends the claim. Keep it to yourself.")
    lease_until = serializers.DateTimeField(help_text="When the claim ends, unless it is extended.")
    lease_seconds = serializers.FloatField(help_text="The same, counted from the claim.")
    job_id = serializers.UUIDField(help_text="The same on every attempt: remember it, to do nothing twice.")
    biz_type = serializers.CharField()
    biz_id = serializers.CharField(allow_blank=True)
    due_at = serializers.DateTimeField(help_text="What the caller asked for.")
    deadline = serializers.DateTimeField(
        allow_null=True,
        help_text="No attempt begins later: by the biz type's `max_age`, or the job's own end.",
    )
    attempt = serializers.IntegerField(help_text="The number of this attempt; a redrive counts from 1 again.")
    max_attempts = serializers.IntegerField()
    redrives = serializers.IntegerField(help_text="How often the job was redriven.")
    headers = serializers.DictField(
        child=serializers.CharField(), help_text="Those that a callback of the job would have, but for a signature."
    )
    body = serializers.JSONField(help_text="As its caller wrote it. Null also where it is of exact bytes.")
    body_text = serializers.CharField(
        required=False, allow_null=True, help_text="The exact bytes of the body, where they are a text in UTF-8."
    )
    body_base64 = serializers.CharField(
        required=False, allow_null=True, help_text="The exact bytes of the body, where they are no text."
    )
    content_type = serializers.CharField(
        required=False, allow_null=True, help_text="Of the exact bytes. Missing: the body is JSON."
    )


class ClaimsSerializer(serializers.Serializer[Any]):
    """The jobs that were claimed; none where none was due."""

    example = {"claims": [ClaimSerializer.example]}

    claims = ClaimSerializer(many=True)


class EndedClaimSerializer(serializers.Serializer[Any]):
    """What became of a claim, and of its job."""

    example = {
        "outcome": "done",
        "repeated": False,
        "job_id": _EXAMPLE_ID,
        "biz_type": "report.build",
        "biz_id": "report-42",
        "status": "succeeded",
        "attempts": 1,
        "next_run_at": "2027-01-31T08:30:00Z",
        "lease_until": None,
    }

    outcome = serializers.ChoiceField(choices=OUTCOMES)
    repeated = serializers.BooleanField(help_text="Whether an earlier request with the token did it already.")
    job_id = serializers.UUIDField()
    biz_type = serializers.CharField()
    biz_id = serializers.CharField(allow_blank=True)
    status = serializers.ChoiceField(choices=Status.choices, help_text="Of the job, now.")
    attempts = serializers.IntegerField(help_text="All attempts ever made.")
    next_run_at = serializers.DateTimeField(help_text="When a pending job runs next.")
    lease_until = serializers.DateTimeField(allow_null=True, help_text="Of an extended claim: when it ends.")
