"""Verbs: what a person may do to a biz type that is there. Each stores the change at once."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.utils import timezone

from delayhub.webhooks.signature import key_of, new_secret
from tasksapp.models import UNTIL_RESUMED, BizType

#: How long the previous signing secret signs beside a new one, so that receivers can change over.
ROTATION = timedelta(days=1)


def edit(biz_type: BizType, changed: Collection[str]) -> None:
    """Stores those attributes of the biz type and no others, so that what somebody else changed stays.

    Args:
        biz_type: with its new values.
        changed: the names of what was changed; ``auth_secret`` may be among them, names of no columns have no effect.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    columns = {field.name for field in BizType._meta.concrete_fields}
    fields = {"auth_secret_sealed" if name == "auth_secret" else name for name in changed} & columns
    if fields:
        biz_type.save(update_fields=[*fields, "updated_at"])


def pause(biz_type: BizType, *, until: datetime = UNTIL_RESUMED) -> None:
    """Holds the jobs of the biz type until then, or until somebody resumes it; new jobs are still taken, and wait.

    A time that has passed resumes it. Raises DatabaseError where the biz type was deleted meanwhile.
    """
    if until <= timezone.now():
        resume(biz_type)
        return
    biz_type.paused_until = until
    biz_type.save(update_fields=["paused_until", "updated_at"])


def resume(biz_type: BizType) -> bool:
    """Lets the jobs of a paused biz type run again, slowly at first; False where it was not paused.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    ends = biz_type.paused_until
    if ends is None:
        return False
    # After a pause that ended by itself, the rate has been rising since then.
    biz_type.paused_until, biz_type.resumed_at = None, min(timezone.now(), ends)
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


def make_signing_secret(biz_type: BizType) -> str:
    """A new signing secret, which callbacks are signed with from now on, as after ``rotate_signing_secret``.

    Raises DatabaseError where the biz type was deleted meanwhile.
    """
    secret = new_secret()
    rotate_signing_secret(biz_type, secret)
    return secret
