"""Verbs: what a person may do to a biz type that is there. Each stores the change at once."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from delayhub.webhooks.signature import key_of
from tasksapp.models import UNTIL_RESUMED, BizType

#: How long the previous signing secret signs beside a new one, so that receivers can change over.
ROTATION = timedelta(days=1)


def pause(biz_type: BizType) -> None:
    """Holds the jobs of the biz type until somebody resumes it; new jobs are still taken, and wait.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    biz_type.paused_until = UNTIL_RESUMED
    biz_type.save(update_fields=["paused_until", "updated_at"])


def resume(biz_type: BizType) -> bool:
    """Lets the jobs of a paused biz type run again, slowly at first; False where it was not paused.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    if biz_type.paused_until is None:
        return False
    biz_type.paused_until, biz_type.resumed_at = None, timezone.now()
    biz_type.save(update_fields=["paused_until", "resumed_at", "updated_at"])
    return True


def rotate_signing_secret(biz_type: BizType, secret: str) -> None:
    """Signs callbacks with a new secret; the one before, if there is one, signs beside it for ``ROTATION``.

    Raises BadSecret where callbacks cannot be signed with it, DatabaseError where the biz type was deleted meanwhile.
    """
    key_of(secret)
    fields = ["signing_secret_sealed", "updated_at"]
    if biz_type.signing_secret_sealed:
        biz_type.previous_signing_secret_sealed = biz_type.signing_secret_sealed
        biz_type.previous_secret_until = timezone.now() + ROTATION
        fields += ["previous_signing_secret_sealed", "previous_secret_until"]
    biz_type.signing_secret = secret
    biz_type.save(update_fields=fields)
