"""Pages of a table too long to count."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import QuerySet


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # it takes no argument at run time
    """Counts no further than `farthest`: what lies deeper is found by filters and search, not by turning pages."""

    farthest = 10_000

    @cached_property
    def count(self) -> int:
        """How many rows there are, or `farthest` when there are more."""
        # Ordered only where a page is read: the count needs no order and reads at most `farthest` index entries.
        return int(cast("QuerySet[Any]", self.object_list).order_by()[: self.farthest].count())
