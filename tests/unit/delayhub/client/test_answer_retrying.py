"""Which requests are repeated, and when."""

from __future__ import annotations

import pytest

from delayhub.client.answer import Retrying, retry_after_of
from delayhub.client.errors import ApiError, Unreachable, problem

RETRYING = Retrying(retries=3, most_wait_seconds=60)


def answered(status: int, *, code: str = "", retry_after: float | None = None) -> ApiError:
    document = {"type": f"https://delay.example/api/problems/{code}"} if code else {}
    return problem("POST /jobs", status=status, document=document, retry_after=retry_after)


NOT_SENT, MAYBE_DONE = (Unreachable("POST /jobs", "cut", was_sent=sent) for sent in (False, True))


@pytest.mark.parametrize(
    ("error", "read_or_keyed", "other"),
    [
        (NOT_SENT, True, True),
        (MAYBE_DONE, True, False),
        (answered(429), True, True),  # refused before anything was done
        (answered(503), True, False),  # a proxy says no more
        (answered(503, code="database_away"), True, False),  # the database may have gone just after the change
        (answered(503, code="database_locked"), True, True),  # the site gave up before the change was made
        (answered(502), True, False),
        (answered(500), False, False),
        (answered(400), False, False),
        (answered(409), False, False),
    ],
)
def test_what_may_have_been_done_is_repeated_only_where_that_does_no_harm(
    error: ApiError, read_or_keyed: bool, other: bool
) -> None:
    assert (RETRYING.pause(error, repeatable=True, failures=1) is not None) == read_or_keyed
    assert (RETRYING.pause(error, repeatable=False, failures=1) is not None) == other


def test_pauses_grow_and_end() -> None:
    longest = [max(RETRYING.pause(NOT_SENT, repeatable=True, failures=n) or 0 for _ in range(200)) for n in (1, 2, 3)]

    assert longest[0] <= 0.5 < longest[1] <= 1 < longest[2] <= 2
    assert RETRYING.pause(NOT_SENT, repeatable=True, failures=4) is None


def test_the_site_says_how_long() -> None:
    pause = RETRYING.pause(answered(429, retry_after=7), repeatable=False, failures=1)

    assert pause is not None
    assert 7 <= pause <= 7.5


def test_a_site_that_asks_for_too_long_a_pause_is_an_error_at_once() -> None:
    assert RETRYING.pause(answered(503, retry_after=3600), repeatable=True, failures=1) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "12"}, 12),
        ({"Retry-After": "Sat, 21 Nov 2026 08:00:30 GMT", "Date": "Sat, 21 Nov 2026 08:00:00 GMT"}, 30),
        ({"Retry-After": "Sat, 21 Nov 2026 08:00:30 GMT"}, None),  # by whose clock?
        ({"Retry-After": "soon"}, None),
        ({"RateLimit": '"inserts";r=0;t=5, "calls";r=0;t=9'}, 9),
        ({"RateLimit": '"inserts";r=3;t=5'}, None),
        ({"RateLimit": '"inserts";r=0;t=5', "Retry-After": "2"}, 2),
        ({"RateLimit": "?"}, None),
    ],
)
def test_the_pause_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(headers) == seconds
