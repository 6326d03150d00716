"""Host patterns: the hosts to which jobs of a biz type may lead by URLs of their own.

``hooks.example.com`` is that host at the usual port of its scheme, ``hooks.example.com:8443`` at that port, and
``*.example.com`` any host below it, at any depth, but not ``example.com`` itself.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from yarl import URL

from tasksapp.delivery.request_url import BadUrl, is_address, request_url

#: Hosts that one biz type may name.
MOST_HOSTS = 50
_ANY = "*."


class HostPattern(NamedTuple):
    """One pattern.

    Args:
        host: in lower case and DNS' own letters.
        port: the port; None for the usual one of the scheme.
        is_any: whether it stands for all hosts below that one.
    """

    host: str
    port: int | None
    is_any: bool

    def fits(self, url: URL) -> bool:
        """Whether requests to that URL go to such a host."""
        host = (url.raw_host or "").lower().removesuffix(".")
        same_host = host.endswith(f".{self.host}") if self.is_any else host == self.host
        same_port = url.is_default_port() if self.port is None else url.port == self.port
        return same_host and same_port


@lru_cache(maxsize=256)
def host_patterns(text: str) -> tuple[HostPattern, ...]:
    """The patterns of a text that has commas between them. Raises BadUrl where one cannot be."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > MOST_HOSTS:
        raise BadUrl(f"There may be {MOST_HOSTS} hosts, these are {len(parts)}.")
    return tuple(_pattern(part) for part in parts)


def may_lead_to(url: URL, *, hosts: str) -> bool:
    """Whether a job may lead to that URL, by the hosts that its biz type names; not where these cannot be read."""
    try:
        return any(pattern.fits(url) for pattern in host_patterns(hosts))
    except BadUrl:
        return False


def _pattern(text: str) -> HostPattern:
    is_any = text.startswith(_ANY)
    plain = text.removeprefix(_ANY)
    try:
        parts = urlsplit(f"//{plain}")
        host, port = request_url(f"https://{parts.hostname}").raw_host or "", parts.port
    except (ValueError, BadUrl) as error:
        raise _unfit(text) from error
    # What is left of the text must be the host and the port, so that no path or user is taken for granted.
    written = f"{parts.hostname}:{port}" if port is not None else str(parts.hostname)
    if plain.lower() != written or host != parts.hostname or port == 0 or (is_any and is_address(host)):
        raise _unfit(text)
    return HostPattern(host.removesuffix("."), port, is_any)


def _unfit(text: str) -> BadUrl:
    return BadUrl(f"{text!r} is no host: write it as hooks.example.com, hooks.example.com:8443 or *.example.com.")
