"""Biz types by their codes, for the project's own code: made and changed as REST does it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import models, router, transaction

from tasksapp.access.actors import Actor
from tasksapp.biz_types import editing
from tasksapp.biz_types.editing import NewBizType
from tasksapp.biz_types.visible import reach_of, refuse_moving
from tasksapp.errors import UnknownBizType
from tasksapp.models import BizType
from tasksapp.models.conflicts import repeated


@repeated
def create(
    code: str,
    *,
    tenant: str | None = None,
    signed: bool = True,
    signing_secret: str = "",
    auth_secret: str = "",
    using: str | None = None,
    by: Actor | None = None,
    **definition: Any,
) -> NewBizType:
    """Make a biz type, and a signing secret if it has callbacks; give both back.

    Args:
        code: what callers name it by.
        tenant: the code of the tenant whose it is; None for the default one.
        signed: False for callbacks without a signature: their receiver cannot know who sent them.
        signing_secret: the secret to sign with, such as ``whsec_`` and base64; '' for a new one.
        auth_secret: the credentials of its callbacks; '' for none.
        using: the database.
        by: who does it, for the audit; None for the project's own code.
        definition: its fields, named as in REST (``retention_seconds``); those left out have their defaults.

    Raises InvalidBizType, CodeTaken where there is one of that code, UnknownTenant, QuotaUsedUp, BadSecret, and
    ValueError for a secret of callbacks that are not to be signed.
    """
    if signing_secret and not signed:
        raise ValueError("signed=False and a signing_secret: leave one of them out")
    using = using or router.db_for_write(BizType)
    return editing.create(
        {**_as_json(definition), "code": code},
        tenant_id=reach_of(None, tenant=tenant, using=using).tenant_id,
        using=using,
        auth_secret=auth_secret,
        signed=signed,
        signing_secret=signing_secret,
        by=by,
    )


@repeated
def change(
    code: str,
    *,
    tenant: str | None = None,
    auth_secret: str = "",
    using: str | None = None,
    by: Actor | None = None,
    **definition: Any,
) -> BizType:
    """Change the fields that are given and no others; give the biz type back.

    Args:
        code: what callers name it by.
        tenant: the code of the tenant whose it is; None for the default one.
        auth_secret: new credentials; '' to keep the stored ones, where they may still be sent.
        using: the database.
        by: who does it, for the audit; None for the project's own code.
        definition: fields, named as in REST.

    Raises UnknownBizType, UnknownTenant, InvalidBizType, and TenantMoving while its tenant moves to another site.
    """
    using = using or router.db_for_write(BizType)
    with transaction.atomic(using=using):
        biz_type = _found(code, tenant=tenant, using=using, locked=True)
        refuse_moving(biz_type)
        editing.change(biz_type, _as_json(definition), auth_secret=auth_secret, by=by)
        biz_type.refresh_from_db()  # the row counts its changes
    return biz_type


def find(code: str, *, tenant: str | None = None, using: str | None = None) -> BizType:
    """Return the biz type of that code. Raises UnknownBizType and UnknownTenant."""
    return _found(code, tenant=tenant, using=using or router.db_for_read(BizType), locked=False)


def _found(code: str, *, tenant: str | None, using: str, locked: bool) -> BizType:
    rows = BizType.objects.using(using).select_related("tenant")
    if locked:
        rows = rows.select_for_update(no_key=True, of=("self",))
    found = rows.filter(reach_of(None, tenant=tenant, using=using).condition(), code=code).first()
    if found is None:
        raise UnknownBizType(code)
    return found


def _as_json(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition with choices as their values and lengths of time as seconds."""
    return {name: _value(value) for name, value in definition.items()}


def _value(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.value if isinstance(value, models.TextChoices) else value
