"""The views of claims: pullers take due jobs of biz types whose target is pull, and say what became of them."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp.api.claims.representation import ClaimsSerializer, EndedClaimSerializer, claims_json, ended_json
from tasksapp.api.claims.requests import (
    ClaimRequestSerializer,
    CompleteClaimRequestSerializer,
    ExtendClaimRequestSerializer,
    FailClaimRequestSerializer,
    ReleaseClaimRequestSerializer,
    claim_request,
    fail_fields,
)
from tasksapp.api.http.actors import actor_of
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.view import ApiViewSet
from tasksapp.api.http.waiting import room_to_wait
from tasksapp.api.keys.requests import unchanged
from tasksapp.models import Job
from tasksapp.models.api_key import Scope
from tasksapp.pulling.held_claim import Ended, HeldClaim
from tasksapp.pulling.puller import TOKEN_LENGTH, Claim, Puller

#: What pullers have under way they may end while their tenant is moved: the move waits for it.
MAY_END = {"while_moving": True}
TOKEN = OpenApiParameter(
    "token",
    {"type": "string", "pattern": f"^[A-Za-z0-9_-]{{{TOKEN_LENGTH}}}$"},
    OpenApiParameter.PATH,
    description="The token of the claim.",
)


class ClaimViews(ApiViewSet):
    """Claims of jobs that are pulled."""

    queryset = Job.objects.select_related("biz_type")
    serializer_class = EndedClaimSerializer
    pagination_class = None
    lookup_field = "token"
    lookup_value_regex = f"[A-Za-z0-9_-]{{{TOKEN_LENGTH}}}"

    @endpoint("Claim jobs", Scope.JOBS_PULL, takes=ClaimRequestSerializer, gives=ClaimsSerializer)
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

    @endpoint(
        "Complete a claim",
        Scope.JOBS_PULL,
        post="done",
        takes=CompleteClaimRequestSerializer,
        parameters=[TOKEN],
        options=MAY_END,
    )
    def done(self, request: Request, token: str, fields: dict[str, Any]) -> Response:
        """The job has succeeded. Sent again with the same token, it answers the same; a claim that was lost is 409."""
        return _shown(_held(request, token).done(**fields))

    @endpoint(
        "Fail a claim",
        Scope.JOBS_PULL,
        post="fail",
        takes=FailClaimRequestSerializer,
        parameters=[TOKEN],
        options=MAY_END,
    )
    def fail(self, request: Request, token: str, fields: dict[str, Any]) -> Response:
        """The attempt failed: the job is tried again by the policy of its biz type, or is dead."""
        return _shown(_held(request, token).fail(**fail_fields(fields)))

    @endpoint(
        "Extend a claim",
        Scope.JOBS_PULL,
        post="extend",
        takes=ExtendClaimRequestSerializer,
        parameters=[TOKEN],
        options=MAY_END,
    )
    def extend(self, request: Request, token: str, fields: dict[str, Any]) -> Response:
        """The claim lasts so many seconds from now. Do this while the work goes on; a claim that was lost is 409."""
        return _shown(_held(request, token).extend(**fields))

    @endpoint(
        "Release a claim",
        Scope.JOBS_PULL,
        post="release",
        takes=ReleaseClaimRequestSerializer,
        parameters=[TOKEN],
        options=MAY_END,
    )
    def release(self, request: Request, token: str, fields: dict[str, Any]) -> Response:
        """The job waits again, and no attempt is used. It is no error where the claim does not hold any more."""
        return _shown(_held(request, token).release(**fields))


def _held(request: Request, token: str) -> HeldClaim:
    return HeldClaim(token, seen_by=request.user, by=actor_of(request))


def _shown(ended: Ended) -> Response:
    return Response(ended_json(ended))
