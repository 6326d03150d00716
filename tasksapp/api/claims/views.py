"""The views of claims: pullers take due jobs of biz types whose target is pull, and say what became of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from delayhub.api_models import claims as answers
from tasksapp.api.claims.requests import (
    ClaimRequestSerializer,
    CompleteClaimRequestSerializer,
    ExtendClaimRequestSerializer,
    FailClaimRequestSerializer,
    ReleaseClaimRequestSerializer,
    claim_request,
    fail_fields,
)
from tasksapp.api.http.answers import json_of, serializer_of, timestamp
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.http.waiting import room_to_wait
from tasksapp.api.keys.requests import unchanged
from tasksapp.jobs.exact_bytes import shown_bytes
from tasksapp.models import Job
from tasksapp.models.api_key import Scope
from tasksapp.pulling.held_claim import Ended, HeldClaim
from tasksapp.pulling.puller import TOKEN_LENGTH, Claim, Puller


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


#: What pullers have under way they may end while their tenant is moved: the move waits for it.
MAY_END = {"while_moving": True}
TOKEN = OpenApiParameter(
    "token",
    {"type": "string", "pattern": f"^[A-Za-z0-9_-]{{{TOKEN_LENGTH}}}$"},
    OpenApiParameter.PATH,
    description="The token of the claim.",
)
_of_claim = partial(endpoint, scope=Scope.JOBS_PULL, parameters=[TOKEN], options=MAY_END)


class ClaimViews(ApiViewSet):
    """Claims of jobs that are pulled."""

    queryset = Job.objects.select_related("biz_type")
    serializer_class = EndedClaimSerializer
    pagination_class = None
    lookup_field = "token"
    lookup_value_regex = f"[A-Za-z0-9_-]{{{TOKEN_LENGTH}}}"

    @endpoint("Claim jobs", Scope.JOBS_PULL, once=True, takes=ClaimRequestSerializer, gives=ClaimsSerializer)
    def create(self, request: Request, fields: dict[str, Any]) -> HttpResponse:
        """Claims due jobs of biz types whose target is `pull`: they are the caller's until their leases end.

        Where none is due, the answer has no claims; with `wait` it comes as soon as one is due.
        """
        asked, caller = claim_request(fields, caller=request.user), request.user
        puller = Puller(by=actor_of(request))

        def confirm() -> None:
            """The key may have been revoked while the request waited."""
            with unchanged(caller):
                pass

        def claim(seconds: float) -> list[Claim]:
            return puller.run(
                asked.biz_types,
                most=asked.most,
                lease_seconds=asked.lease_seconds,
                seconds=seconds,
                confirm=confirm,
            )

        # A claim that finds something at once takes none of the few places to wait in.
        claims = claim(0)
        if not claims and asked.wait:
            with room_to_wait(request):
                claims = claim(asked.wait)
        return HttpResponse(claims_json(claims), content_type="application/json")

    @_of_claim("Complete a claim", post="done", takes=CompleteClaimRequestSerializer)
    def done(self, request: Request, token: str, fields: dict[str, Any]) -> Response:
        """The job has succeeded. Sent again with the same token, it answers the same; a claim that was lost is 409."""
        return _shown(_held(request, token).done(**fields))

    @_of_claim("Fail a claim", post="fail", takes=FailClaimRequestSerializer)
    def fail(self, request: Request, token: str, fields: dict[str, Any]) -> Response:
        """The attempt failed: the job is tried again by the policy of its biz type, or is dead."""
        return _shown(_held(request, token).fail(**fail_fields(fields)))

    @_of_claim("Extend a claim", post="extend", takes=ExtendClaimRequestSerializer)
    def extend(self, request: Request, token: str, fields: dict[str, Any]) -> Response:
        """The claim lasts so many seconds from now. Do this while the work goes on; a claim that was lost is 409."""
        return _shown(_held(request, token).extend(**fields))

    @_of_claim("Release a claim", post="release", takes=ReleaseClaimRequestSerializer)
    def release(self, request: Request, token: str, fields: dict[str, Any]) -> Response:
        """The job waits again, and no attempt is used. It is no error where the claim does not hold any more."""
        return _shown(_held(request, token).release(**fields))


def _held(request: Request, token: str) -> HeldClaim:
    return HeldClaim(token, seen_by=request.user, by=actor_of(request))


def _shown(ended: Ended) -> Response:
    return Response(ended_json(ended))
