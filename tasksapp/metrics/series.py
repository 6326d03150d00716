"""BizTypeSeries: which biz types have series of their own, so that a site with thousands does not drown Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from tasksapp.access.quotas import Quota
from tasksapp.conf import options
from tasksapp.models import BizType, Tenant

#: The labels of all biz types that have no series of their own, together. No code has parentheses.
OTHERS = ("(other)", "(other)")


class BizTypeSeries:
    """The biz types of all tenants, with what these have of their quotas, and the labels of each.

    The oldest ones have series of their own, as many as ``DELAYHUB["METRICS_BIZ_TYPES"]`` says, so that none loses its
    series when a new one comes. All others are added up.

    Args:
        biz_types: all of them, with their tenants, in the order of their ids.
    """

    def __init__(self, biz_types: list[BizType]) -> None:
        self.every = biz_types
        self.named = biz_types[: options().metrics_biz_types]
        self._labels = {each.pk: (cast("Tenant", each.tenant).code, each.code) for each in self.named}

    @classmethod
    def read(cls, *, using: str) -> BizTypeSeries:
        """Those of a database; by one query."""
        fields = (
            "code",
            "tenant__code",
            "enabled",
            "paused_until",
            "url",
            "lane",
            "target",
            "max_in_flight",
            "queue_name",
            *(f"tenant__most_{quota}" for quota in Quota),
            *(f"tenant__counted__{name}" for name in (*Quota, "counted_at")),
        )
        rows = BizType.objects.using(using).select_related("tenant__counted").only(*fields, "tenant_id").order_by("id")
        return cls(list(rows))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The labels of all series, the shared one last, where there is one."""
        yield from self._labels.values()
        if len(self.every) > len(self.named):
            yield OTHERS

    def of(self, biz_type_id: int) -> tuple[str, str]:
        """The labels of the series that a biz type belongs to."""
        return self._labels.get(biz_type_id, OTHERS)

    @property
    def named_ids(self) -> list[int]:
        """The ids of those with series of their own."""
        return list(self._labels)
