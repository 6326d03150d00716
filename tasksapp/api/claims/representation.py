"""How claims of pulled jobs look from outside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from delayhub.api_models import claims as answers
from tasksapp.api.http.answers import json_of, serializer_of, timestamp
from tasksapp.jobs.exact_bytes import shown_bytes
from tasksapp.pulling.held_claim import Ended
from tasksapp.pulling.puller import Claim


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
    return json_of(
        answers.EndedClaim,
        job,
        outcome=ended.outcome,
        repeated=ended.repeated,
        job_id=job.id,
        biz_type=job.biz_type.code,
        lease_until=job.lease_until if ended.outcome == "extended" else None,
    )


_EXAMPLE_ID = "01a1fcb9-e182-7773-bac4-bf777e5e56f2"


_EXAMPLE: dict[str, Any] = {
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
_EXACT = {
    "body_text": "The exact bytes of the body, where they are a text in UTF-8.",
    "body_base64": "The exact bytes of the body, where they are no text.",
    "content_type": "Of the exact bytes. Missing: the body is JSON.",
}
ClaimSerializer = serializer_of(
    answers.Claim,
    example=_EXAMPLE,
    own={
        "body": serializers.JSONField(help_text="As its caller wrote it. Null also where it is of exact bytes."),
        **{
            name: serializers.CharField(required=False, allow_null=True, help_text=words)
            for name, words in _EXACT.items()
        },
    },
)
ClaimsSerializer = serializer_of(answers.ClaimAnswer, name="Claims", example={"claims": [_EXAMPLE]})
EndedClaimSerializer = serializer_of(
    answers.EndedClaim,
    example={
        "outcome": "done",
        "repeated": False,
        "job_id": _EXAMPLE_ID,
        "biz_type": "report.build",
        "biz_id": "report-42",
        "status": "succeeded",
        "attempts": 1,
        "next_run_at": "2027-01-31T08:30:00Z",
        "lease_until": None,
    },
)
