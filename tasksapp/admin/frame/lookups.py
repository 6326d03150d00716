"""Which columns a list in the admin may be filtered by through its address, and with which values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime

#: PostgreSQL takes no greater offset from UTC.
MOST_OFFSET = timedelta(hours=15, minutes=59)


class OnlyNamedLookups:
    """A part of a ModelAdmin: lists take the lookups that are named here, and no others.

    Django lets people filter by any column and any lookup. So they could read sealed values letter by letter
    (``signing_secret_sealed__startswith``), and keep the database busy with a costly pattern (``body__regex``).
    """

    #: Lookups that the filters and links of the list use, such as ``status__exact``.
    named_lookups: frozenset[str] = frozenset()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Whether the list may be filtered so; Django answers 400 where it may not."""
        del request
        return lookup in self.named_lookups and _is_possible(value)


def _is_possible(value: str) -> bool:
    """Whether a database takes the value: for NUL or a time out of its range it would raise an error."""
    if "\0" in value:
        return False
    try:
        time = parse_datetime(value)
    except ValueError:
        return True  # Django refuses it where a time is wanted
    return time is None or _is_in_range(time)


def _is_in_range(time: datetime) -> bool:
    if timezone.is_naive(time):
        time = timezone.make_aware(time)  # as Django reads it
    try:
        time = time if timezone.is_aware(time) else timezone.make_aware(time)
        time.astimezone(UTC)
    except (OverflowError, ValueError):
        return False
    return abs(time.utcoffset() or timedelta()) <= MOST_OFFSET
