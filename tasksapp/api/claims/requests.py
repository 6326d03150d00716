"""What pullers may send."""

from __future__ import annotations

from typing import Any, NamedTuple

from rest_framework import serializers

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


class ClaimRequestSerializer(serializers.Serializer[Any]):
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


class CompleteClaimRequestSerializer(serializers.Serializer[Any]):
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


class ReleaseClaimRequestSerializer(serializers.Serializer[Any]):
    """Why a job is given back, and when it can be claimed again."""

    example = {"reason": "shutting down"}

    reason = serializers.CharField(required=False, allow_blank=True, max_length=REASON_LENGTH)
    retry_in = serializers.FloatField(
        required=False, allow_null=True, min_value=0, max_value=_LONGEST_RETRY,
        help_text="Seconds until it can be claimed again. Null: at once.",
    )  # fmt: skip


class ExtendClaimRequestSerializer(serializers.Serializer[Any]):
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
    codes = fields.get("biz_types")
    if not isinstance(codes, list) or not 1 <= len(codes) <= MOST_BIZ_TYPES:
        raise refused("biz_types", "invalid", f"biz_types must be a list of 1 to {MOST_BIZ_TYPES} codes")
    found: dict[int, BizType] = {}
    for code in codes:
        try:
            biz_type = biz_type_of(caller, code)
        except InvalidJob as error:
            raise refused("biz_types", error.code, error.message) from None
        if not biz_type.is_pulled:
            raise refused("biz_types", "not_pulled", f"the jobs of {code} are not pulled: its target is no pull")
        found[biz_type.pk] = biz_type
    return ClaimRequest(
        list(found.values()),
        _whole(fields, "max", least=1, most=MOST_CLAIMS, usual=1),
        _whole(fields, "wait", least=0, most=LONGEST_WAIT, usual=0),
        lease_of(fields),
    )


def done_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """What a puller says about a job that is done. Raises Refused."""
    return {"note": _text(fields, "note", most=NOTE_LENGTH)}


def fail_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """What a puller says about a job that failed. Raises Refused."""
    dead = fields.get("dead", False)
    if not isinstance(dead, bool):
        raise refused("dead", "invalid", f"dead must be true or false, got {dead!r:.80}")
    if dead and fields.get("retry_in") is not None:
        raise refused("retry_in", "conflict", "retry_in is for a job that is tried again, and dead says that it is not")
    return {
        "reason": _text(fields, "reason", most=REASON_LENGTH),
        "note": _text(fields, "note", most=NOTE_LENGTH),
        "retry_in": _retry_in(fields),
        "dead": dead,
    }


def release_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """What a puller says about a job that it gives back. Raises Refused."""
    return {"reason": _text(fields, "reason", most=REASON_LENGTH), "retry_in": _retry_in(fields)}


def extend_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """How long a claim goes on. Raises Refused."""
    return {"lease_seconds": lease_of(fields)}


def lease_of(fields: dict[str, Any]) -> float | None:
    """How long a claim lasts; None for the biz type's timeout. Raises Refused."""
    return _seconds(fields, "lease_seconds", least=SHORTEST_LEASE, most=LONGEST_LEASE)


def _retry_in(fields: dict[str, Any]) -> float | None:
    return _seconds(fields, "retry_in", least=0, most=_LONGEST_RETRY)


def _seconds(fields: dict[str, Any], name: str, *, least: float, most: float) -> float | None:
    given = fields.get(name)
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
        raise refused(name, "invalid", f"{name} must be a number from {least:g} to {most:g}, got {given!r:.80}")
    return float(given)


def _whole(fields: dict[str, Any], name: str, *, least: int, most: int, usual: int) -> int:
    given = fields.get(name, usual)
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise refused(name, "invalid", f"{name} must be a whole number from {least} to {most}, got {given!r:.80}")
    return given


def _text(fields: dict[str, Any], name: str, *, most: int) -> str:
    given = fields.get(name, "")
    if not isinstance(given, str) or len(given) > most or "\x00" in given:
        raise refused(name, "invalid", f"{name} must be a text of at most {most} characters, without NUL")
    return given
