"""Pages of a table too long to count."""

from __future__ import annotations

from functools import cached_property
from typing import Any, cast

from django.core.paginator import Paginator
from django.db.models import QuerySet

from tasksapp.stats.counts import bounded_count


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # it takes no argument at run time
    """Counts at most ``FARTHEST`` rows. What lies deeper is found by filters and search, not by turning pages."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, or ``FARTHEST`` where there are more."""
        return bounded_count(cast("QuerySet[Any]", self.object_list))
