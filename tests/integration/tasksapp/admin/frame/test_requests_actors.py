"""Who acts through the admin, and from where."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory

from tasksapp.admin.frame.requests import actor_of


@pytest.mark.parametrize(
    ("meta", "proxies", "address"),
    [
        ({"REMOTE_ADDR": "192.0.2.7"}, 0, "192.0.2.7"),
        # the whole address, not the network that limits count by
        ({"REMOTE_ADDR": "2001:db8:1:2:3:4:5:6"}, 0, "2001:db8:1:2:3:4:5:6"),
        ({"REMOTE_ADDR": "::ffff:192.0.2.7"}, 0, "192.0.2.7"),
        ({"REMOTE_ADDR": "fe80::1%eth0"}, 0, "fe80::1"),
        # a socket of the file system
        ({"REMOTE_ADDR": ""}, 0, None),
        # any client can send this header; it counts only behind a proxy
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_X_FORWARDED_FOR": "198.51.100.1"}, 0, "192.0.2.7"),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_X_FORWARDED_FOR": "198.51.100.1"}, 1, "198.51.100.1"),
        ({"REMOTE_ADDR": "192.0.2.7", "HTTP_X_FORWARDED_FOR": "nonsense"}, 1, None),
    ],
)
def test_the_person_is_known_by_name_and_address(
    meta: dict[str, str], proxies: int, address: str | None, settings: Any
) -> None:
    settings.REST_FRAMEWORK = {"NUM_PROXIES": proxies}
    request = RequestFactory().get("/")
    request.user = User(username="ada" * 100)
    request.META |= meta

    actor = actor_of(request)

    assert actor.name == ("ada" * 100)[:150]
    assert actor.address == address
