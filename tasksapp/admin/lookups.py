"""Which columns a list in the admin may be filtered by through its address."""

from __future__ import annotations

from django.http import HttpRequest


class OnlyNamedLookups:
    """A part of a ModelAdmin: lists take the lookups that are named here, and no others.

    Django lets people filter by any column and any lookup. So they could read sealed values letter by letter
    (``signing_secret_sealed__startswith``), and keep the database busy with a costly pattern (``body__regex``).
    """

    #: Lookups that the filters and links of the list use, such as ``status__exact``.
    named_lookups: frozenset[str] = frozenset()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Whether the list may be filtered so; Django answers 400 where it may not."""
        del value, request
        return lookup in self.named_lookups
