"""Makes the biz type of a delayed task when it is first used, without holding up other first uses."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import DatabaseError, connections, transaction

from tasksapp.models import BizType
from tasksapp.models.tenant import DEFAULT_TENANT

logger = logging.getLogger(__name__)

#: How long the making of a biz type waits for a transaction that is making it too.
LOCK_TIMEOUT_MS = 2_000


def make_at_first_use(code: str, *, tenant_id: int = DEFAULT_TENANT, defaults: dict[str, Any], using: str) -> BizType:
    """The tenant's biz type of that code, made with these values where there is none.

    Within the caller's transaction, a new row would lock its code until that transaction ends, and every other first
    use would wait for it. So a connection of its own commits it at once, and it stays where the caller rolls back.
    """
    if _can_commit_at_once(using):
        try:
            with ThreadPoolExecutor(max_workers=1, thread_name_prefix="delayhub-first-use") as thread:
                return thread.submit(_make, code, tenant_id=tenant_id, defaults=defaults, using=using).result()
        except DatabaseError as error:
            extra = {"action": "first_use", "biz_type": code}
            logger.warning("the biz type %s is made in the caller's transaction: %s", code, error, extra=extra)
    biz_type, _ = BizType.objects.using(using).get_or_create(tenant_id=tenant_id, code=code, defaults=defaults)
    return biz_type


def _can_commit_at_once(using: str) -> bool:
    """Whether a connection of its own can commit the row, and the caller's transaction then sees it."""
    connection: Any = connections[using]
    # SQLite has one writer at a time, and the caller may be it.
    if connection.vendor != "postgresql" or not connection.in_atomic_block:
        return False
    # A TestCase rolls its transaction back; a row that was committed beside it would stay for other tests.
    if any(block._from_testcase for block in connection.atomic_blocks):
        return False
    # A stricter transaction sees only what was committed before it began.
    return bool(connection.isolation_level.name == "READ_COMMITTED")


def _make(code: str, *, tenant_id: int, defaults: dict[str, Any], using: str) -> BizType:
    try:
        with transaction.atomic(using=using):
            with connections[using].cursor() as cursor:
                cursor.execute(f"SET LOCAL lock_timeout = {LOCK_TIMEOUT_MS}")
            biz_type, _ = BizType.objects.using(using).get_or_create(tenant_id=tenant_id, code=code, defaults=defaults)
            return biz_type
    finally:
        connections[using].close()
