"""What a client needs to know of a site: where it is, the key, and how long to wait for it."""

from __future__ import annotations

import os
import platform
from dataclasses import KW_ONLY, dataclass, field
from importlib.metadata import version
from urllib.parse import urlsplit

import httpx

from delayhub.client.errors import NotConfigured
from delayhub.errors import OptionError

URL_VARIABLE, KEY_VARIABLE = "DELAYHUB_URL", "DELAYHUB_API_KEY"
#: Where the ready-made project has its API.
API_PATH = "/api/v1"
#: Sent with each request, so that the site's log says which client asked.
USER_AGENT = f"delayhub-client/{version('delayhub')} python/{platform.python_version()} httpx/{httpx.__version__}"


@dataclass(frozen=True)
class ClientOptions:
    """The options of a client, checked.

    Args:
        url: the site's address (its API is at ``/api/v1``), or that of an API elsewhere, which ends with ``/v1``;
            ``DELAYHUB_URL`` by default.
        api_key: ``DELAYHUB_API_KEY`` by default.
        timeout_seconds: how long one request may take to connect, and to wait for each piece of its answer.
        retries: how often a request is repeated, where that is safe.
        most_wait_seconds: the longest pause before a repetition; where the site asks for a longer one, the error is
            raised at once.
        connections: how many connections are open at once, at most.

    Raises:
        NotConfigured: there is no address or no key.
        OptionError: a value cannot be.
    """

    url: str | None = None
    _: KW_ONLY
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 30.0
    retries: int = 3
    most_wait_seconds: float = 60.0
    connections: int = 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", address((self.url or os.environ.get(URL_VARIABLE, "")).strip()))
        object.__setattr__(self, "api_key", (self.api_key or os.environ.get(KEY_VARIABLE, "")).strip())
        if not self.api_key:
            raise NotConfigured(f"no API key: give api_key, or set {KEY_VARIABLE}")
        if not (self.api_key.isascii() and self.api_key.isprintable() and " " not in self.api_key):
            raise OptionError("api_key must be plain letters, digits and signs without a space")
        for name in ("timeout_seconds", "connections"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("retries", "most_wait_seconds"):
            if not getattr(self, name) >= 0:
                raise OptionError(f"{name} may not be negative, got {getattr(self, name)}")

    @property
    def base_url(self) -> str:
        """The address of the API, without a slash at its end."""
        assert self.url
        return self.url

    @property
    def headers(self) -> dict[str, str]:
        """What is sent with each request."""
        return {
            "Authorization": f"Bearer {self.api_key}",
            "User-Agent": USER_AGENT,
            "Accept": "application/json, application/problem+json",
        }

    @property
    def timeout(self) -> httpx.Timeout:
        """The timeout, as httpx takes it."""
        return httpx.Timeout(self.timeout_seconds)

    @property
    def limits(self) -> httpx.Limits:
        """The limits of the pool of connections, as httpx takes them."""
        return httpx.Limits(max_connections=self.connections, max_keepalive_connections=self.connections)


def address(given: str) -> str:
    """The API's address for that of a site, or of an API. Raises NotConfigured or OptionError."""
    if not given:
        raise NotConfigured(f"no address: give url, or set {URL_VARIABLE}, such as https://delay.example")
    try:
        parts = urlsplit(given)
        is_known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half of an IPv6 address, or a port that is none
        is_known = False
    if not is_known or parts.query or parts.fragment or not given.isprintable() or " " in given:
        raise OptionError(f"url must be like https://delay.example, got {given!r}")
    if parts.username is not None or parts.password is not None:
        raise OptionError("url may not hold a user or a password: give the API key as api_key")
    bare = given.rstrip("/")
    return bare if bare.endswith("/v1") else bare + API_PATH
