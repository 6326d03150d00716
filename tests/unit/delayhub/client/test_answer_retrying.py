"""Which requests are repeated, and when; by the Python client, and by the TypeScript client."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import httpx
import pytest

from delayhub.client import ApiError, RateLimited, ServerUnavailable, Unreachable
from tests.answering_site import Site, ok, refused

pytestmark = pytest.mark.usefixtures("over")


@pytest.mark.usefixtures("pauses")
@pytest.mark.parametrize(
    ("answer", "read_or_keyed", "other"),
    [
        (lambda: httpx.ConnectError("refused"), True, True),  # nothing was sent
        (lambda: httpx.ReadError("cut"), True, False),  # it may have been done
        (lambda: refused(429), True, True),  # refused before anything was done
        (lambda: refused(503), True, False),  # a proxy says no more
        (lambda: refused(503, code="database_away"), True, False),  # it may have gone just after the change
        (lambda: refused(503, code="write_conflict"), True, True),
        (lambda: refused(503, code="database_locked"), True, True),  # the site gave up before the change was made
        (lambda: refused(502), True, False),
        (lambda: refused(500), False, False),
        (lambda: refused(400), False, False),
        (lambda: refused(409), False, False),
        (lambda: refused(409, code="idempotency_key_in_use"), True, True),  # the first one is still under way
    ],
)
def test_what_may_have_been_done_is_repeated_only_where_that_does_no_harm(
    answer: Callable[[], httpx.Response | Exception], read_or_keyed: bool, other: bool
) -> None:
    for verb, is_repeated in (("read", read_or_keyed), ("cancel", other)):
        site = Site(answer(), ok())

        with nullcontext() if is_repeated else pytest.raises(ApiError):
            getattr(site.client().jobs, verb)("1")

        assert len(site.asked) == 1 + is_repeated, verb


def test_pauses_grow_and_end(pauses: list[float]) -> None:
    for _ in range(50):
        site = Site(*[httpx.ConnectError("refused")] * 4)
        with pytest.raises(Unreachable):
            site.client().jobs.read("1")
        assert len(site.asked) == 4

    longest = [max(pauses[place::3]) for place in range(3)]
    assert longest[0] <= 0.5 < longest[1] <= 1 < longest[2] <= 2


def test_a_site_that_asks_for_too_long_a_pause_is_an_error_at_once(pauses: list[float]) -> None:
    with pytest.raises(ServerUnavailable):
        Site(refused(503, Retry_After="3600")).client().jobs.read("1")

    assert pauses == []


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry_After": "12"}, 12),
        ({"Retry_After": "Sat, 21 Nov 2026 08:00:30 GMT", "Date": "Sat, 21 Nov 2026 08:00:00 GMT"}, 30),
        ({"Retry_After": "Sat, 21 Nov 2026 08:00:30 GMT"}, None),  # by whose clock?
        ({"Retry_After": "soon"}, None),
        ({"RateLimit": '"inserts";r=0;t=5, "calls";r=0;t=9'}, 9),
        ({"RateLimit": '"inserts";r=3;t=5'}, None),
        ({"RateLimit": '"inserts";r=0;t=5', "Retry_After": "2"}, 2),
        ({"RateLimit": "?"}, None),
    ],
)
def test_the_site_says_how_long(headers: dict[str, str], seconds: float | None, pauses: list[float]) -> None:
    with pytest.raises(RateLimited) as limited:
        Site(refused(429, **headers), refused(429)).client(retries=1).jobs.cancel("1")

    assert limited.value.retry_after is None  # that of the last answer
    [pause] = pauses
    assert (seconds or 0) <= pause <= (seconds or 0) + 0.5
