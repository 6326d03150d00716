"""Stranded jobs: live jobs of biz types that begin none until someone acts; and a system check that names them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.apps import AppConfig
from django.core import checks
from django.core.checks import CheckMessage
from django.db import DatabaseError, InterfaceError, router
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.models import LIVE, BizType, Job
from tasksapp.models.api_key import MOVING

#: Jobs of a biz type that are counted; beyond that there are "more than" so many.
MOST_COUNTED = 10_000


class Stranded(NamedTuple):
    """A biz type that is closed, and has live jobs.

    Args:
        biz_type: the biz type.
        live: how many there are, up to ``MOST_COUNTED``.
    """

    biz_type: BizType
    live: int

    def __str__(self) -> str:
        count = f"{self.live:,}+" if self.live == MOST_COUNTED else f"{self.live:,}"
        jobs = ngettext("%(count)s live job", "%(count)s live jobs", self.live) % {"count": count}
        return f"{self.biz_type.label}: {jobs}. {self.reason}"

    @property
    def reason(self) -> str:
        """Why they do not begin, and what to do."""
        if self.biz_type.moved_to == MOVING:
            return _("A move of the tenant has not ended: run move_tenant again, or with --back.")
        if self.biz_type.moved_to:
            return _("The tenant has moved to another site: cancel them here, or move it back.")
        return _("The biz type is disabled: enable it, or cancel them.")


def stranded(*, using: str | None = None) -> list[Stranded]:
    """Return all closed biz types that have live jobs, by their codes."""
    database = using or router.db_for_read(BizType)
    live = Job.objects.using(database).filter(status__in=LIVE)
    rows = BizType.objects.using(database).select_related("tenant").filter(~Q(moved_to="") | Q(enabled=False))
    # Each status by its own, so that an index leads to the first of them.
    has = [Exists(Job.objects.using(database).filter(biz_type=OuterRef("pk"), status=status)) for status in LIVE]
    found = rows.filter(has[0] | has[1]).order_by("tenant_id", "code")
    return [Stranded(row, live.filter(biz_type=row)[:MOST_COUNTED].count()) for row in found]


def check_stranded(
    app_configs: Sequence[AppConfig] | None = None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Return a warning for each biz type whose live jobs begin only once someone acts."""
    using = router.db_for_write(BizType)
    if using not in (databases or ()):
        return []
    try:
        return [checks.Warning(f"{each}", id="delayhub.W037") for each in stranded(using=using)]
    except (DatabaseError, InterfaceError):
        return []
