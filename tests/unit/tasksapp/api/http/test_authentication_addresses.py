"""The address of a client, behind as many proxies as the project says."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import RequestFactory

from tasksapp.api.http.authentication import client_address


@pytest.mark.parametrize(
    ("proxies", "forwarded", "connected", "address"),
    [
        # any client can send the header, so it counts only where the project says that a proxy writes it
        (None, "203.0.113.9", "192.0.2.1", "192.0.2.1"),
        (0, "203.0.113.9", "192.0.2.1", "192.0.2.1"),
        (1, "203.0.113.9, 198.51.100.7", "10.0.0.1", "198.51.100.7"),
        (2, "203.0.113.9, 198.51.100.7, 10.0.0.2", "10.0.0.1", "198.51.100.7"),
        # a request that did not come by the proxies
        (2, "198.51.100.7", "10.0.0.1", "198.51.100.7"),
        (1, "", "10.0.0.1", "10.0.0.1"),
        (1, " , ", "10.0.0.1", "10.0.0.1"),
        # one client has a whole network of IPv6 addresses
        (0, "", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        (0, "", "::ffff:192.0.2.1", "192.0.2.1"),
        # no address at all: a socket of the file system, or nonsense, of a bounded length
        (0, "", "", ""),
        (1, "x" * 100, "10.0.0.1", "x" * 64),
    ],
)
def test_it_is_what_the_outermost_proxy_saw(
    settings: Any, proxies: int | None, forwarded: str, connected: str, address: str
) -> None:
    settings.REST_FRAMEWORK = {"NUM_PROXIES": proxies}
    request = RequestFactory().get("/", REMOTE_ADDR=connected, HTTP_X_FORWARDED_FOR=forwarded)

    assert client_address(request) == address
