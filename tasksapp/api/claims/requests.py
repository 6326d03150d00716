"""What pullers may send."""

from __future__ import annotations

from typing import Any, NamedTuple

from rest_framework import serializers

from tasksapp.api.http.checked_request import CheckedRequest
from tasksapp.api.http.problems import refused
from tasksapp.biz_types.visible import biz_type_of
from tasksapp.errors import InvalidJob
from tasksapp.jobs.retry_policy import LONGEST_RETRY_AFTER
from tasksapp.models import BizType
from tasksapp.pulling.puller import LONGEST_LEASE, MOST_BIZ_TYPES, MOST_CLAIMS, SHORTEST_LEASE

#: The longest wait of a claim, in seconds.
LONGEST_WAIT = 30
#: Characters of a reason, and of a note.
REASON_LENGTH, NOTE_LENGTH = 400, 2_000
_LONGEST_RETRY = LONGEST_RETRY_AFTER.total_seconds()


class ClaimRequestSerializer(CheckedRequest):
    """Which jobs to claim, and how many."""

    example = {"biz_types": ["report.build"], "max": 10, "wait": 20, "lease_seconds": 60}

    biz_types = serializers.ListField(
        child=serializers.CharField(max_length=100), min_length=1, max_length=MOST_BIZ_TYPES,
        help_text="Their codes; the target of each is `pull`.",
    )  # fmt: skip
    max = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_CLAIMS, help_text="Jobs at most; 1 where it is not given."
    )
    wait = serializers.IntegerField(
        required=False, min_value=0, max_value=LONGEST_WAIT,
        help_text="Seconds to wait for a job where none is due; the answer comes as soon as one is.",
    )  # fmt: skip
    lease_seconds = serializers.FloatField(
        required=False, allow_null=True, min_value=SHORTEST_LEASE, max_value=LONGEST_LEASE,
        help_text="How long the claims last. Null: as long as the timeout of the biz type.",
    )  # fmt: skip


class CompleteClaimRequestSerializer(CheckedRequest):
    """What is kept about an attempt that succeeded."""

    example: dict[str, Any] = {"note": "built in 12 s"}

    note = serializers.CharField(
        required=False, allow_blank=True, max_length=NOTE_LENGTH, help_text="Kept with the attempt."
    )


class FailClaimRequestSerializer(CompleteClaimRequestSerializer):
    """Why an attempt failed, and what follows."""

    example = {"reason": "the disk is full", "retry_in": 300}

    reason = serializers.CharField(
        required=False, allow_blank=True, max_length=REASON_LENGTH, help_text="The job's `last_error`."
    )
    retry_in = serializers.FloatField(
        required=False, allow_null=True, min_value=0, max_value=_LONGEST_RETRY,
        help_text="Seconds until the next attempt. Null: by the backoff of the biz type.",
    )  # fmt: skip
    dead = serializers.BooleanField(required=False, help_text="Whether no other attempt could succeed.")


class ReleaseClaimRequestSerializer(CheckedRequest):
    """Why a job is given back, and when it can be claimed again."""

    example = {"reason": "shutting down"}

    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)
    retry_in = serializers.FloatField(
        required=False, allow_null=True, min_value=0, max_value=_LONGEST_RETRY,
        help_text="Seconds until it can be claimed again. Null: at once.",
    )  # fmt: skip


class ExtendClaimRequestSerializer(CheckedRequest):
    """How long a claim goes on, from now."""

    example = {"lease_seconds": 60}

    lease_seconds = serializers.FloatField(
        required=False, allow_null=True, min_value=SHORTEST_LEASE, max_value=LONGEST_LEASE,
        help_text="Null: as long as the timeout of the biz type.",
    )  # fmt: skip


class ClaimRequest(NamedTuple):
    """A request for claims, checked."""

    biz_types: list[BizType]
    most: int
    wait: int
    lease_seconds: float | None


def claim_request(fields: dict[str, Any], *, caller: object) -> ClaimRequest:
    """The request. Raises Refused and InvalidJob, which name the field."""
    found: dict[int, BizType] = {}
    for code in fields["biz_types"]:
        try:
            biz_type = biz_type_of(caller, code)
        except InvalidJob as error:
            raise refused("biz_types", error.code, error.message) from None
        if not biz_type.is_pulled:
            raise refused("biz_types", "not_pulled", f"the jobs of {code} are not pulled: its target is no pull")
        found[biz_type.pk] = biz_type
    return ClaimRequest(list(found.values()), fields.get("max", 1), fields.get("wait", 0), fields.get("lease_seconds"))


def fail_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """What a puller says about a job that failed. Raises Refused."""
    if fields.get("dead") and fields.get("retry_in") is not None:
        raise refused("retry_in", "conflict", "retry_in is for a job that is tried again, and dead says that it is not")
    return fields
