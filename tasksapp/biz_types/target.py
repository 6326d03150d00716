"""The target of a biz type's callbacks, with its secrets decrypted: made once for each state of the biz type."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime
from functools import lru_cache
from urllib.parse import urlsplit

from tasksapp.delivery.callback import Target
from tasksapp.models import BizType


def target_of(biz_type: BizType, *, now: datetime) -> Target:
    """Where the callbacks go, and how they are authorized and signed.

    Raises SecretUnreadable where a secret cannot be decrypted.
    """
    rotating = biz_type.previous_secret_until is not None and biz_type.previous_secret_until > now
    keys_rotating = biz_type.previous_key_until is not None and biz_type.previous_key_until > now
    return _target(_Edit(biz_type), rotating, keys_rotating)


class _Edit:
    """A biz type as a cache key: equal to the same instance, as long as it is not saved again.

    The cache of biz types makes an instance for each state of the row; the last edit's time would not do, since
    ``QuerySet.update`` and SQL leave it as it is.
    """

    def __init__(self, biz_type: BizType) -> None:
        self.biz_type = biz_type
        self._identity = (id(biz_type), biz_type.updated_at)

    def __hash__(self) -> int:
        return hash(self._identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Edit) and self._identity == other._identity


@lru_cache(maxsize=1024)
def _target(edit: _Edit, rotating: bool, keys_rotating: bool) -> Target:
    biz_type = edit.biz_type
    parts = urlsplit(biz_type.url)
    secrets = [biz_type.signing_secret, *([biz_type.previous_signing_secret] if rotating else [])]
    keys = [biz_type.signing_key, *([biz_type.previous_signing_key] if keys_rotating else [])]
    return Target(
        biz_type=biz_type.code,
        queue=biz_type.queue,
        url=biz_type.url,
        host=parts.netloc,
        method=biz_type.method,
        headers=tuple(biz_type.headers.items()),
        unshown=frozenset(name.lower() for name in biz_type.headers),
        authorization=_authorization(biz_type),
        secrets=tuple(secret for secret in secrets if secret),
        private_keys=tuple(key for key in keys if key),
        timeout_seconds=biz_type.timeout_seconds,
        permanent_codes=frozenset(biz_type.permanent_status_codes),
        at_most_once=biz_type.guarantee == BizType.Guarantee.AT_MOST_ONCE,
    )


def _authorization(biz_type: BizType) -> str:
    match biz_type.auth:
        case BizType.Auth.BASIC:
            return f"Basic {b64encode(biz_type.auth_secret.encode()).decode()}"
        case BizType.Auth.BEARER:
            return f"Bearer {biz_type.auth_secret}"
    return ""
