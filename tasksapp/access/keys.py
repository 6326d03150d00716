"""API keys: made at random, shown once, kept as a hash; and wrong ones, counted by the address that sends them."""

from __future__ import annotations

import hashlib
import logging
import re
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db import router, transaction

from delayhub.failure_limit import FailureLimit
from tasksapp.access import audit
from tasksapp.access.actors import Actor
from tasksapp.access.audit import Deed
from tasksapp.access.quotas import Quota, take_one
from tasksapp.conf import options
from tasksapp.models import ApiKey, BizType
from tasksapp.sql.find_api_key import StoredKey, find_api_keys

#: Every key begins like this, so that scanners recognise a leaked one.
MARK = "dh_"
#: How a key begins that names its cell. No random part has a dot.
_CELL = re.compile(re.escape(MARK) + r"[a-z0-9]{1,4}\.")
#: Characters of the random part that are stored as they are, to find its row by.
_PREFIX_LENGTH = 8
logger = logging.getLogger(__name__)
#: Wrong keys of one address after which it is asked to wait, and how long they count, from the first of them.
MOST_WRONG, WRONG_SECONDS = 20, 60.0
_limit = FailureLimit(most=MOST_WRONG, window_seconds=WRONG_SECONDS)


class IssuedKey(NamedTuple):
    """A new key: its row, and the key itself, which is stored nowhere."""

    row: ApiKey
    key: str


def issue_key(name: str, *, key: str | None = None, by: Actor | None = None, **columns: Any) -> IssuedKey:
    """Stores a key for the caller of that name: the given one, or a new random one.

    Args:
        name: whose key it is.
        key: the key itself; None for a new random one.
        by: who issues it, for the audit; None for the project's own code.
        columns: other columns of its row, such as ``scopes``; see :class:`tasksapp.models.ApiKey`.

    Raises IntegrityError where the tenant has a key of that name, or a key with the same prefix exists already, and
    QuotaUsedUp where it has as many as it may.
    """
    return store_key(ApiKey(name=name, **columns), key=key, by=by)


def store_key(row: ApiKey, *, key: str | None = None, by: Actor | None = None) -> IssuedKey:
    """Stores a new row with the given key, or with a new random one. Raises what ``issue_key`` does."""
    issued = IssuedKey(row, key or new_key())
    set_key(row, issued.key)
    using = router.db_for_write(ApiKey)
    with transaction.atomic(using=using):
        take_one(Quota.API_KEYS, tenant_id=row.tenant_id, using=using)
        row.save()
        given = {name: getattr(row, name) for name in ("owner", "scopes", "biz_type_ids", "expires_at")}
        record_key(Deed.ISSUE_KEY, row, by=by, after={name: value for name, value in given.items() if value})
    return issued


def record_key(
    deed: Deed,
    row: ApiKey,
    *,
    by: Actor | None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Records what was done to a key.

    Args:
        deed: what was done.
        row: the key's row.
        by: who did it; None for the project's own code, which leaves no entry.
        before: columns with the values that they had.
        after: columns with the values that they have now.
    """
    if by is None or not audit.is_recorded(by):
        return
    old, new = _with_codes(before or {}), _with_codes(after or {})
    # The prefix says which key it was: names can be changed.
    entry = audit.entry(deed, by=by, what=f"{row.name} ({row.prefix}…)", before=old, after=new)
    audit.record([entry], using=row._state.db or router.db_for_write(ApiKey))


def _with_codes(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns, with the codes of biz types in place of their ids, which say nothing to people."""
    rest = {name: value for name, value in columns.items() if name != "biz_type_ids"}
    ids = columns.get("biz_type_ids")
    if not ids:
        return rest if ids is None else {**rest, "biz_types": []}
    return {
        **rest,
        "biz_types": list(BizType.objects.filter(id__in=ids).order_by("code").values_list("code", flat=True)),
    }


def set_key(row: ApiKey, key: str) -> None:
    """Makes ``key`` the row's key; the row keeps its prefix and its hash. The caller saves the row."""
    row.prefix, row.hashed_key = prefix_of(key), hash_key(key)


def find_key(key: str) -> StoredKey | None:
    """What is stored of that key, if it is enabled and has not expired; else None.

    Asks the database that keys are written to. A key that was replaced is found until its overlap ends.
    """
    if not (key.isascii() and key.isprintable()):
        return None  # no database need read what no key can be
    rows = find_api_keys(prefix_of(key), using=router.db_for_write(ApiKey))
    hashed = hash_key(key)
    for row in rows:
        if secrets.compare_digest(row.hashed_key, hashed):
            return row
    return None


def new_key() -> str:
    """A key of 256 random bits, which names the cell that made it, where this site is one of several."""
    cell = options().cell
    return f"{MARK}{cell}.{secrets.token_urlsafe(32)}" if cell else MARK + secrets.token_urlsafe(32)


def prefix_of(key: str) -> str:
    """How the key begins; what finds its row."""
    cell = _CELL.match(key)
    return key[: (cell.end() if cell else len(MARK)) + _PREFIX_LENGTH]


def hash_key(key: str) -> str:
    """The SHA-256 of a key. A slow hash would add nothing: 256 random bits cannot be guessed."""
    return hashlib.sha256(key.encode()).hexdigest()


def count_wrong_key(address: str) -> float:
    """Counts a wrong key from that address; gives back for how many seconds it should send none, 0 for no wait.

    Only wrong keys come here: a right one passes, whatever else its address sends (decision 20).
    """
    wait = _limit.wait_seconds(address)
    if wait == 0 and _limit.failed(address) == MOST_WRONG:
        logger.warning(
            "%s sent %d wrong API keys within %d s; further ones are answered with 429 until that time is over",
            address, MOST_WRONG, WRONG_SECONDS, extra={"action": "wrong_keys", "address": address},
        )  # fmt: skip
    return wait


def forget_wrong_keys() -> None:
    """Forgets all that were counted."""
    _limit.forget()
