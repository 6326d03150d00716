"""The rule of a job's own timeout, headers and URL, and what its biz type allows of them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.translation import override
from yarl import URL

from tasksapp.biz_types.token_request import origin_of
from tasksapp.biz_types.validation import LONGEST_HEADERS, header_complaint
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.host_patterns import may_lead_to
from tasksapp.delivery.own_request import OwnRequest, read_own_request, shown_own_request
from tasksapp.delivery.request_url import BadUrl, request_url
from tasksapp.delivery.sent_request import MASK, is_secret
from tasksapp.jobs.validation import Rule, is_number
from tasksapp.models import BizType
from tasksapp.models.encrypted_text import seal

#: The shortest timeout, which is that of a biz type; the longest is the biz type's own.
SHORTEST_TIMEOUT = 0.1
MOST_HEADERS, LONGEST_URL = 30, 2_000
#: What stands for the value of a header that is a secret.
HIDDEN = MASK
_MEMBERS = frozenset({"timeout_seconds", "headers", "url"})
#: Beside those that no biz type may set, what the delivery sets itself.
_RESERVED = frozenset({"accept-encoding", "proxy-authorization", "proxy-connection", "user-agent"})


class StoredRequest(NamedTuple):
    """What another job's row has, to be taken over as it is."""

    text: str


@dataclass(frozen=True, kw_only=True)
class RequestOfItsOwn(Rule):
    """A timeout, headers and a URL, as the text that the job's row keeps; '' for none.

    What depends on the biz type is for :func:`fitted` to find out.
    """

    def __call__(self, given: Any) -> str:
        if given is None:
            return ""
        if isinstance(given, StoredRequest):
            return given.text
        if not isinstance(given, Mapping):
            raise self.refusal("invalid", "must be an object with timeout_seconds, headers and url")
        for name in given:
            if name not in _MEMBERS:
                raise self.refusal("unknown", f"may have timeout_seconds, headers and url, got {name!r:.100}")
        plain = self._headers(given.get("headers"))
        return OwnRequest(
            timeout_seconds=self._timeout(given.get("timeout_seconds")),
            url=self._url(given.get("url")),
            headers={name: value for name, value in plain.items() if not is_secret(name)},
            sealed={name: seal(value) for name, value in plain.items() if is_secret(name)},
        ).text()

    def edited(self, given: Any, *, stored: str) -> str:
        """The same for a job that has one already: what comes back masked, as it was shown, stays as it is.

        Raises InvalidJob, also where masked headers would go to another host.
        """
        if not stored or not isinstance(given, Mapping):
            return self(given)
        before = read_own_request(stored)
        asked, headers = dict(given), given.get("headers")
        if before.url and asked.get("url") == before.shown()["url"]:
            asked["url"] = before.url
        kept: dict[str, str] = {}
        if isinstance(headers, Mapping):
            kept = {name: sealed for name, sealed in before.sealed.items() if headers.get(name) == MASK}
            asked["headers"] = {name: value for name, value in headers.items() if name not in kept}
        after = read_own_request(self(asked))
        if kept and origin_of(after.url) != origin_of(before.url):
            raise self.refusal("hidden", f"leads to another host: write the value of {', '.join(kept)} again")
        origin = before.origin if kept else ""
        return after._replace(sealed={**after.sealed, **kept}, origin=origin).text()

    def _timeout(self, given: Any) -> float | None:
        if given is None:
            return None
        if not is_number(given) or not SHORTEST_TIMEOUT <= given <= threading.TIMEOUT_MAX:
            text = f"timeout_seconds must be a number of seconds, at least {SHORTEST_TIMEOUT}, got {given!r:.80}"
            raise self.refusal("invalid", text)
        return float(given)

    def _url(self, given: Any) -> str:
        if given is None:
            return ""
        if not isinstance(given, str) or len(given) > LONGEST_URL:
            raise self.refusal("invalid", f"url must be a text of up to {LONGEST_URL} characters")
        with override("en"):
            complaint = AddressGuard(options().allowed_networks).complaint(given)
        if complaint:
            raise self.refusal("url", f"url: {complaint}")
        return given

    def _headers(self, given: Any) -> dict[str, str]:
        if given is None:
            return {}
        if not isinstance(given, Mapping) or len(given) > MOST_HEADERS:
            raise self.refusal("headers", f"headers must be an object of up to {MOST_HEADERS} texts")
        for name, value in given.items():
            self._check_header(name, value)
        if len({name.lower() for name in given}) < len(given):
            raise self.refusal("headers", "headers may not have a name twice, in whatever case")
        size = sum(len(name) + len(value) + 4 for name, value in given.items())
        if size > LONGEST_HEADERS:
            raise self.refusal("headers", f"headers may have {LONGEST_HEADERS} bytes in all, got {size}")
        return dict(given)

    def _check_header(self, name: Any, value: Any) -> None:
        complaint = None
        if not isinstance(name, str):
            complaint = f"{name!r:.100} cannot be a header's name."
        elif name.lower() in _RESERVED:
            complaint = f"{name} is set by the delivery itself."
        elif isinstance(value, str) and MASK in value:
            complaint = f"The value of {name} stands for a hidden one: write the value itself."
        if complaint is None:
            with override("en"):
                complaint = header_complaint(name, value)
        if complaint:
            raise self.refusal("headers", f"headers: {complaint}")


def shown_request(text: str) -> dict[str, Any] | None:
    """What a job's row has of its own request, as callers and pages may see it; None where it has nothing."""
    return shown_own_request(text)


def fitted(rule: Rule, text: str, biz_type: BizType) -> str:
    """The text for a job of that biz type. Raises InvalidJob where the biz type does not allow what it says."""
    own = read_own_request(text)
    if biz_type.target != BizType.Target.HTTP and own != OwnRequest(content_type=own.content_type):
        raise rule.refusal("target", f"is for callbacks: {biz_type.code} has none")
    if own.timeout_seconds is not None and own.timeout_seconds > biz_type.timeout_seconds:
        most = f"{biz_type.timeout_seconds:g}"
        said = f"timeout_seconds may be {most}, the timeout of {biz_type.code}, got {own.timeout_seconds:g}"
        raise rule.refusal("timeout", said)
    if own.url:
        url = _parsed(rule, own.url)
        if not may_lead_to(url, hosts=biz_type.url_hosts):
            names = "those that it names" if biz_type.url_hosts else "none"
            text = f"url may not lead to {url.host}: {biz_type.code} allows URLs of jobs for {names}"
            raise rule.refusal("host", text)
    if own.sealed and not own.origin:
        own = own._replace(origin=origin_of(own.url or biz_type.url))
    return own.text()


def edited_request(rule: Rule, given: Any, *, stored: str, biz_type: BizType) -> str:
    """The text in the place of the stored one, for jobs of that biz type. Raises InvalidJob."""
    assert isinstance(rule, RequestOfItsOwn)
    text = rule.edited(given, stored=stored)
    return fitted(rule, text, biz_type) if text else ""


def asked_request(given: Any) -> Any:
    """What was asked for, in one form, by which the same request is known again."""
    if isinstance(given, StoredRequest):
        return given.text
    if given is None:
        return None
    headers = {name.lower(): value for name, value in (given.get("headers") or {}).items()}
    timeout = given.get("timeout_seconds")
    return [None if timeout is None else float(timeout), given.get("url") or "", headers]


def _parsed(rule: Rule, url: str) -> URL:
    try:
        return request_url(url)
    except BadUrl as error:
        raise rule.refusal("url", f"url: {error}") from error
