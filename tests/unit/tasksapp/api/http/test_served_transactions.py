"""Views outside of ``ATOMIC_REQUESTS``: each verb has a transaction of its own."""

from __future__ import annotations

from typing import Any

from django.db import connections

from tasksapp.api.http.served import outside


def test_a_view_is_outside_on_every_database_that_there_is() -> None:
    def view(request: Any) -> Any:
        return request

    marked = outside(view)

    assert marked is view
    assert marked._non_atomic_requests == set(connections)
