"""Editing: biz types made and changed by their definitions, as REST and documents do it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction

from delayhub.webhooks.signature import new_secret
from tasksapp.access.actors import Actor
from tasksapp.biz_types import verbs
from tasksapp.biz_types.certificate import certificate_complaint
from tasksapp.biz_types.definition import define
from tasksapp.biz_types.validation import credentials_complaint, must_type_credentials
from tasksapp.errors import CodeTaken, Fault, InvalidBizType
from tasksapp.models import BizType
from tasksapp.models.encrypted_text import opens


class NewBizType(NamedTuple):
    """A biz type that was just made.

    Args:
        biz_type: the biz type.
        signing_secret: the secret that its callbacks are signed with, which is not to be had again; None: no secret.
    """

    biz_type: BizType
    signing_secret: str | None


def create(
    given: Mapping[str, Any],
    *,
    tenant_id: int,
    using: str,
    auth_secret: str = "",
    signed: bool = True,
    signing_secret: str = "",
    by: Actor | None = None,
) -> NewBizType:
    """Makes a biz type; if it has callbacks, a signing secret is made for them.

    Args:
        given: its definition; fields that are left out have their defaults.
        tenant_id: whose it is.
        using: the database.
        auth_secret: the credentials of its callbacks; '' for none.
        signed: False where its callbacks are to have no signature.
        signing_secret: the secret that they are signed with; '' for a new one.
        by: who does it, for the audit.

    Raises InvalidBizType, QuotaUsedUp, BadSecret, and CodeTaken where there is one of that code.
    """
    biz_type = BizType(tenant_id=tenant_id)
    biz_type._state.db = using
    prepare(biz_type, given, auth_secret=auth_secret)
    with transaction.atomic(using=using):
        add(biz_type, by=by)
        secret = (signing_secret or new_secret()) if signed and biz_type.is_unsigned else None
        if secret is not None:
            verbs.rotate_signing_secret(biz_type, secret, by=by)
    return NewBizType(biz_type, secret)


def change(biz_type: BizType, given: Mapping[str, Any], *, auth_secret: str = "", by: Actor | None = None) -> set[str]:
    """Changes what is given and nothing else; gives back the columns that changed.

    Args:
        biz_type: as it is stored, and locked.
        given: a part of its definition.
        auth_secret: new credentials; '' to keep the stored ones, where they may still be sent.
        by: who does it, for the audit.

    Raises InvalidBizType, CodeTaken where another one has the code that it is given, and DatabaseError where it was
    deleted meanwhile.
    """
    changed = prepare(biz_type, given, auth_secret=auth_secret)
    if changed:
        with _once(biz_type):
            verbs.edit(biz_type, changed, by=by)
    return changed


def prepare(biz_type: BizType, given: Mapping[str, Any], *, auth_secret: str) -> set[str]:
    """Gives the biz type those values, without storing it; gives back what has changed by it. Raises InvalidBizType."""
    before = _copy(biz_type)
    changed = define(biz_type, given)
    if complaint := certificate_complaint(before, biz_type):
        raise InvalidBizType([Fault("url", "invalid", f"url: {complaint}")])
    concerns_credentials = auth_secret or not given.keys().isdisjoint({"auth", "url", "token_url"})
    if concerns_credentials and (complaint := credentials_complaint(before, biz_type, typed=auth_secret)):
        raise InvalidBizType([Fault("auth_secret", "invalid", f"auth_secret: {complaint}")])
    forgets = bool(before.auth_secret_sealed) and must_type_credentials(before, biz_type) is not None
    is_same = opens(before.auth_secret_sealed) and before.auth_secret == auth_secret
    if (auth_secret and not is_same) or (forgets and not auth_secret):
        biz_type.auth_secret = auth_secret
        changed.add("auth_secret")
    return changed


def add(biz_type: BizType, *, by: Actor | None) -> None:
    """Stores a new biz type. Raises CodeTaken where there is one of that code."""
    with _once(biz_type):
        verbs.add(biz_type, by=by)


@contextmanager
def _once(biz_type: BizType) -> Iterator[None]:
    """Stores the biz type in the block. Raises CodeTaken where its tenant has another one of that code."""
    try:
        with transaction.atomic(using=biz_type._state.db):
            yield
    except IntegrityError:
        raise CodeTaken(biz_type.code) from None


def _copy(biz_type: BizType) -> BizType:
    return BizType(**{column.attname: getattr(biz_type, column.attname) for column in BizType._meta.concrete_fields})
