"""Pieces of HTML: what is put in is escaped, and a count that ended early says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils.translation import override

from tasksapp.admin.frame.fragments import (
    address,
    badge,
    duration,
    flow_state,
    listed,
    local_time,
    named,
    number,
    percent,
    sentence,
    time_away,
)
from tasksapp.biz_types.breaker import Breaker
from tasksapp.models import UNTIL_RESUMED, BizType

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_a_time_is_local_and_says_how_far_away_it_is(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"

    assert "2030-01-01 14:00:00" in local_time(NOW + timedelta(hours=1), now=NOW)
    assert "in 1\xa0hour" in local_time(NOW + timedelta(hours=1), now=NOW)
    assert "1\xa0hour ago" in local_time(NOW - timedelta(hours=1), now=NOW)
    assert ">-<" in local_time(None)


@pytest.mark.parametrize(
    ("language", "list_of_two", "value", "whole"),
    [
        ("en", "a, b", "done: 7", "No job is delivered."),
        ("zh-hans", "a\u3001b", "done\uff1a7", "No job is delivered\u3002"),
    ],
)
def test_signs_between_words_are_those_of_the_readers_language(
    language: str, list_of_two: str, value: str, whole: str
) -> None:
    with override(language):
        assert listed(["a", "b"]) == list_of_two
        assert named("done", "7") == value
        assert sentence("no job is delivered") == whole


def test_a_badge_escapes_its_word() -> None:
    assert "&lt;b&gt;" in badge("<b>", "dead")


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (9_999, "9,999"), (10_000, "10,000+"), (1_000_000_000_000, "1,000,000,000,000+"), (None, "-")],
)
def test_a_number_has_its_thousands_apart_and_a_plus_where_the_count_ended(value: int | None, shown: str) -> None:
    assert number(value, bound=10_000) == shown
    assert number(value) == shown.removesuffix("+")


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0 ms"),
        (8.4, "8 ms"),
        (1_500, "1.5 s"),
        (41_000, "41 s"),
        (60_000, "1 min"),
        (400_000, "6 min 40 s"),
        (7_500_000, "2 h 5 min"),
        (86_400_000, "1 d"),
        (273_600_000, "3 d 4 h"),
        (-41_000, "-41 s"),
        (None, "-"),
    ],
)
def test_a_length_of_time_is_said_by_its_two_greatest_units(ms: float | None, shown: str) -> None:
    assert duration(ms=ms) == shown
    assert duration(seconds=None if ms is None else ms / 1000) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0 %"),
        (0.03, "3 %"),
        (0.004, "0.4 %"),
        (0.00001, "< 0.1 %"),
        (0.999, "> 99 %"),
        (1, "100 %"),
        (None, "-"),
    ],
)
def test_a_small_share_is_not_said_to_be_nothing_nor_a_great_one_to_be_all(share: float | None, shown: str) -> None:
    assert percent(share) == shown


def test_below_a_minute_a_time_is_away_by_seconds() -> None:
    assert time_away(NOW - timedelta(seconds=41.9), now=NOW) == "41 s ago"
    assert time_away(NOW + timedelta(seconds=12), now=NOW) == "in 12 s"
    assert time_away(NOW, now=NOW) == "now"


@pytest.mark.parametrize(
    ("fields", "breaker", "words"),
    [
        ({}, None, "flowing"),
        ({}, Breaker(healed_ms=1), "flowing"),
        ({}, Breaker(open_until_ms=int(NOW.timestamp() * 1000) + 11_500), "receiver down, retry in 12 s"),
        ({}, Breaker(open_until_ms=1), "receiver down, trying one job at a time"),
        (
            {},
            Breaker(open_until_ms=1, no_token="login.example: status 503"),
            "no access token: login.example: status 503",
        ),
        ({"enabled": False, "paused_until": UNTIL_RESUMED}, None, "disabled"),
        ({"paused_until": UNTIL_RESUMED}, None, "paused"),
        ({"paused_until": UNTIL_RESUMED, "paused_by": "ada"}, None, "paused by ada"),
        ({"paused_until": NOW + timedelta(hours=1)}, None, "paused until 2030-01-01 13:00"),
        (
            {"paused_until": NOW + timedelta(hours=1), "paused_by": "<b>"},
            None,
            "paused by &lt;b&gt; until 2030-01-01 13:00",
        ),
        ({"paused_until": NOW - timedelta(seconds=1)}, None, "flowing"),
    ],
)
def test_the_flow_of_a_biz_type_is_said_in_words(fields: dict[str, Any], breaker: Breaker | None, words: str) -> None:
    assert f">{words}<" in flow_state(BizType(code="order.close", **fields), breaker, now=NOW)


def test_a_page_that_an_admin_site_does_not_have_has_no_address() -> None:
    assert address("tasksapp_job_changelist", site="admin") == "/admin/tasksapp/job/"
    assert address("tasksapp_nothing", site="admin") == ""
