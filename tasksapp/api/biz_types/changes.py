"""The part of the views of biz types that makes, changes, deletes, pauses and resumes them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db.models import ProtectedError
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request
from rest_framework.response import Response

from tasksapp.api.biz_types.access import locked_biz_type, may_add, shown_biz_type, writing_database
from tasksapp.api.biz_types.representation import CreatedBizTypeSerializer, biz_type_json, etag_of
from tasksapp.api.biz_types.requests import (
    BizTypeRequestSerializer,
    ChangeBizTypeRequestSerializer,
    PauseBizTypeRequestSerializer,
    ResumeBizTypeRequestSerializer,
)
from tasksapp.api.http.authentication import actor_of
from tasksapp.api.http.conditions import check_match, require_match
from tasksapp.api.http.endpoint import endpoint
from tasksapp.api.http.problems import Refused, refused
from tasksapp.api.http.view import fields_of
from tasksapp.biz_types import editing, verbs
from tasksapp.biz_types.follow_ups import FOLLOW_UPS
from tasksapp.biz_types.gates import is_in_force
from tasksapp.biz_types.visible import Reach, visible_biz_types
from tasksapp.models import UNTIL_RESUMED, BizType
from tasksapp.models.api_key import Scope
from tasksapp.models.columns import is_code

IF_MATCH = OpenApiParameter(
    "If-Match",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="The `ETag` of the biz type as you read it; `*`: change it whatever it is now.",
)


class BizTypeChanges:
    """Making and changing biz types. Each is checked as the admin's form checks it, and is in the audit."""

    @endpoint(
        "Create a biz type",
        Scope.BIZ_TYPES_WRITE,
        request=BizTypeRequestSerializer,
        status=201,
        gives=OpenApiResponse(CreatedBizTypeSerializer, "It was made, and so was its signing secret."),
    )
    def create(self, request: Request) -> Response:
        """Makes a biz type. Its callbacks are signed with a new secret, which is shown this once."""
        may_add(request)
        fields = fields_of(request)
        auth_secret = secret_of(fields)
        if "code" not in fields:
            raise refused("code", "required", "code is required")
        made = editing.create(
            fields,
            tenant_id=Reach.of(request.user).tenant_id,
            using=writing_database(),
            auth_secret=auth_secret,
            by=actor_of(request),
        )
        made.biz_type.refresh_from_db()
        shown = biz_type_json(made.biz_type, shows_all=True, in_force=is_in_force(made.biz_type))
        shown["signing_secret"] = made.signing_secret
        # Its address is below the one that it was posted to.
        headers = {"Location": f"{request.path}/{made.biz_type.code}", "ETag": etag_of(made.biz_type)}
        return Response(shown, status=201, headers=headers)

    @endpoint("Change a biz type", Scope.BIZ_TYPES_WRITE, request=ChangeBizTypeRequestSerializer, parameters=[IF_MATCH])
    def partial_update(self, request: Request, code: str) -> Response:
        """Changes the fields that are given, and no others. Limits are in force when this is answered, unless it says
        `"in_force": false`, and for jobs that start from then on; workers use the rest within a second.

        Another `code` renames it: its address is another one from then on, and callers have to use the new name.
        Where the address leads to another host, port or scheme, the stored credentials are not sent there: give
        `auth_secret` again.
        """
        fields = fields_of(request)
        auth_secret = secret_of(fields)
        with locked_biz_type(request, code) as biz_type:
            require_match(request, etag_of(biz_type))
            _refuse_unseen(request, biz_type, fields)
            editing.change(biz_type, fields, auth_secret=auth_secret, by=actor_of(request))
        return shown_biz_type(request, biz_type)

    @endpoint(
        "Delete a biz type",
        Scope.BIZ_TYPES_WRITE,
        gives={204: OpenApiResponse(description="It is gone.")},
        parameters=[IF_MATCH],
    )
    def destroy(self, request: Request, code: str) -> Response:
        """Deletes a biz type without jobs and series. One that has some can be disabled: `{"enabled": false}`."""
        with locked_biz_type(request, code) as biz_type:
            check_match(request, etag_of(biz_type))
            if not verbs.may_delete(biz_type):
                raise _has_jobs(code)
            try:
                verbs.delete(biz_type, by=actor_of(request))
            except ProtectedError:
                raise _has_jobs(code) from None
        return Response(status=204)

    @endpoint("Pause a biz type", Scope.BIZ_TYPES_WRITE, post="pause", takes=PauseBizTypeRequestSerializer)
    def pause(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Holds its jobs. New ones are still taken, and wait; what is under way ends as usual."""
        until = end_of(fields)
        with locked_biz_type(request, code) as biz_type:
            verbs.pause(biz_type, until=until, by=actor_of(request), reason=fields["reason"].strip())
        return shown_biz_type(request, biz_type)

    @endpoint("Resume a biz type", Scope.BIZ_TYPES_WRITE, post="resume", takes=ResumeBizTypeRequestSerializer)
    def resume(self, request: Request, code: str, fields: dict[str, Any]) -> Response:
        """Lets its jobs run again, slowly at first and faster every 2 seconds. One that runs stays as it is."""
        with locked_biz_type(request, code) as biz_type:
            verbs.resume(biz_type, by=actor_of(request), reason=fields.get("reason", "").strip())
        return shown_biz_type(request, biz_type)


def _refuse_unseen(request: Request, biz_type: BizType, fields: dict[str, Any]) -> None:
    """Refuses follow-ups of biz types that the key does not see: it could make jobs of them by that. Raises Refused."""
    if Reach.of(request.user).biz_type_ids is None:
        return
    for name in FOLLOW_UPS:
        given = fields.get(name)
        code = given.strip() if isinstance(given, str) else ""  # as it is stored
        if code == getattr(biz_type, name) or not is_code(code):
            continue
        if not visible_biz_types(request.user, using=writing_database()).filter(code=code).exists():
            raise refused(name, "unknown", f"there is no biz type {code!r}")


def end_of(fields: dict[str, Any]) -> datetime:
    """When a pause ends. Raises Refused where that is not to come."""
    until: datetime = fields.get("until") or UNTIL_RESUMED
    if not timezone.now() < until <= UNTIL_RESUMED:
        raise refused("until", "past", "until must be a time that is still to come")
    return until


def secret_of(fields: dict[str, Any]) -> str:
    """Takes the credentials out of the fields of a request; '' where it has none. Raises Refused."""
    secret = fields.pop("auth_secret", "")
    if not isinstance(secret, str):
        raise refused("auth_secret", "invalid", "auth_secret must be a text")
    return secret


def _has_jobs(code: str) -> Refused:
    detail = f'{code} has jobs or series. Disable it ({{"enabled": false}}): it then takes no jobs, and none fire.'
    return Refused.of("has_jobs", detail)
