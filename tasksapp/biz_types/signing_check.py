"""A system check of biz types whose callbacks have no signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.core.checks import CheckMessage
from django.db import DatabaseError, InterfaceError, router

from tasksapp.models import BizType


def check_signatures(
    app_configs: Sequence[AppConfig] | None = None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """A warning for each biz type that signs nothing. It asks the database that biz types are in."""
    using = router.db_for_write(BizType)
    if using not in (databases or ()):
        return []
    rows = BizType.objects.using(using).select_related("tenant").filter(enabled=True, target=BizType.Target.HTTP)
    try:
        labels = [row.label for row in rows.order_by("tenant_id", "code") if row.is_unsigned]
    except (DatabaseError, InterfaceError):
        return []
    return [
        checks.Warning(
            f"callbacks of {label} have no signature: their receiver cannot know who sent them",
            hint="biz_types.make_signing_secret(biz_types.find(code)) makes a secret; so do the admin and REST.",
            id="delayhub.W036",
        )
        for label in labels
    ]
