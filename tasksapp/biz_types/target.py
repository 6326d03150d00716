"""The target of a biz type's callbacks, with its secrets decrypted: made once for each state of the biz type."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from urllib.parse import urlsplit

from tasksapp.biz_types.token_request import grant_of, origin_of
from tasksapp.delivery.callback import Target
from tasksapp.delivery.client_tls import ClientTls
from tasksapp.delivery.host_patterns import may_lead_to
from tasksapp.delivery.own_request import OwnRequest, read_own_request
from tasksapp.delivery.request_url import BadUrl, request_url
from tasksapp.models import BizType
from tasksapp.models.encrypted_text import open_sealed

_AUTHORIZATION = "authorization"


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
        grant=grant_of(biz_type),
        tls=_tls(biz_type),
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


def _tls(biz_type: BizType) -> ClientTls | None:
    if not biz_type.client_certificate_sealed and not biz_type.ca_bundle:
        return None
    return ClientTls(biz_type.client_certificate, biz_type.ca_bundle)


class NotAsItStands(Exception):
    """A job waits until somebody sees to it: its secret headers are for another host, or it is of a later release."""


@lru_cache(maxsize=1024)
def own_target(target: Target, request: str, *, hosts: str, is_sealed: bool = False) -> Target:
    """Where a job's callback goes, and how.

    The biz type's own credentials go to its own scheme, host and port only.

    Args:
        target: that of its biz type.
        request: what the job's row has of its own.
        hosts: where its biz type lets jobs lead.
        is_sealed: whether the job is encrypted.

    Raises SecretUnreadable where a header cannot be decrypted, NotAsItStands where it may not be sent.
    """
    try:
        own = read_own_request(request)
    except (TypeError, ValueError):  # never the text: it may hold secrets
        raise NotAsItStands("its request is of a later release") from None
    url = own.url or target.url
    is_same = origin_of(url) == origin_of(target.url)
    target = replace(
        target, url=url, host=urlsplit(url).netloc, is_elsewhere=not is_same, is_untold=is_sealed and not is_same
    )
    if own.url and (refusal := _refusal(own.url, hosts=hosts)):
        return replace(target, refusal=refusal, is_elsewhere=True)
    headers = _headers(target, own, origin=origin_of(url))
    given = headers.pop(_AUTHORIZATION, ("", ""))[1]
    carries_usual = is_same and not given
    return replace(
        target,
        headers=tuple(headers.values()),
        # Those of the job are shown by their names, as the job itself shows them.
        unshown=target.unshown - {name.lower() for name in own.headers},
        content_type=own.content_type or target.content_type,
        authorization=target.authorization if carries_usual else given,
        grant=target.grant if carries_usual else None,
        tls=target.tls if is_same else None,
        # The lease of its claim is as long as the biz type's timeout asks for.
        timeout_seconds=min(own.timeout_seconds or target.timeout_seconds, target.timeout_seconds),
    )


def _headers(target: Target, own: OwnRequest, *, origin: str) -> dict[str, tuple[str, str]]:
    """By name in lower case, the headers of the biz type with those of the job in their place."""
    if own.sealed and own.origin != origin:
        raise NotAsItStands(f"{', '.join(own.sealed)} of the job: given for {own.origin}, not for {origin}")
    opened = {name: open_sealed(sealed) for name, sealed in own.sealed.items()}
    given = [*target.headers, *own.headers.items(), *opened.items()]
    return {name.lower(): (name, value) for name, value in given}


def _refusal(url: str, *, hosts: str) -> str:
    try:
        parsed = request_url(url)
    except BadUrl as error:
        return f"the job's URL: {error}"
    return "" if may_lead_to(parsed, hosts=hosts) else f"its biz type does not let jobs lead to {parsed.host}"
