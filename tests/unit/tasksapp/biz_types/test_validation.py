"""A biz type as a whole, judged where a person edits it: every mistake is named at its field."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tasksapp.biz_types.validation import LONGEST_AGE, LONGEST_BACKOFF_SECONDS, complaints, secret_complaint
from tasksapp.models import BizType


def biz_type(**fields: Any) -> BizType:
    return BizType(code="order.close", **{"url": "https://receiver.example/hook", **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"url": "http://receiver.example:8080/"},
        {"headers": {"X-Team": "orders", "User-Agent": "us"}},
        {"headers": {"X-Empty": ""}},
        {"backoff": "list", "backoff_list": [0, 1.5, LONGEST_BACKOFF_SECONDS]},
        {"permanent_status_codes": [100, 599]},
        {"backoff_min_seconds": 5, "backoff_max_seconds": 5},
        {"max_age": timedelta(0), "retention": None, "max_lateness": LONGEST_AGE},
        {"target": "celery", "url": "", "task_name": "shop.close"},
    ],
)
def test_what_can_work_has_no_complaint(fields: dict[str, Any]) -> None:
    assert complaints(biz_type(**fields)) == {}


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"url": ""}, "url", "Give the address"),
        ({"url": "ftp://receiver.example/"}, "url", "http"),
        ({"url": "http://127.0.0.1/"}, "url", "not a public address"),
        ({"target": "celery", "task_name": ""}, "task_name", "Name the Celery task"),
        # headers that are none, are ours, or would be two
        ({"headers": []}, "headers", "must be a JSON object"),
        ({"headers": {"X Team": "a"}}, "headers", "'X Team' cannot be a header's name"),
        ({"headers": {"": "a"}}, "headers", "cannot be a header's name"),
        ({"headers": {"Host": "a"}}, "headers", "Host is set by the delivery itself"),
        ({"headers": {"Webhook-Id": "a"}}, "headers", "set by the delivery itself"),
        ({"headers": {"delayhub-attempt": "a"}}, "headers", "set by the delivery itself"),
        ({"headers": {"X-A": "a\r\nX-Evil: b"}}, "headers", "one line of ASCII text"),
        ({"headers": {"X-A": "ä"}}, "headers", "one line of ASCII text"),
        ({"headers": {"X-A": 7}}, "headers", "one line of ASCII text"),
        # lists that are none, or have something else in them
        ({"backoff": "list", "backoff_list": []}, "backoff_list", "Give at least one wait"),
        ({"backoff_list": "10"}, "backoff_list", "must be a list of seconds"),
        ({"backoff_list": [True]}, "backoff_list", "must be a list of seconds"),
        ({"backoff_list": [-1]}, "backoff_list", "must be a list of seconds"),
        ({"backoff_list": [LONGEST_BACKOFF_SECONDS + 1]}, "backoff_list", "must be a list of seconds"),
        ({"permanent_status_codes": {}}, "permanent_status_codes", "must be a list of HTTP status codes"),
        ({"permanent_status_codes": [99]}, "permanent_status_codes", "must be a list of HTTP status codes"),
        ({"permanent_status_codes": [600]}, "permanent_status_codes", "must be a list of HTTP status codes"),
        ({"permanent_status_codes": [True]}, "permanent_status_codes", "must be a list of HTTP status codes"),
        # times that are in the wrong order, or longer than anything lasts
        ({"backoff_min_seconds": 9, "backoff_max_seconds": 8}, "backoff_max_seconds", "not be less than the shortest"),
        ({"backoff_max_seconds": LONGEST_BACKOFF_SECONDS + 1}, "backoff_max_seconds", "at most a year"),
        ({"max_age": timedelta(seconds=-1)}, "max_age", "from 0 to 3652 days"),
        ({"retention": LONGEST_AGE + timedelta(seconds=1)}, "retention", "from 0 to 3652 days"),
        ({"lane": "nobody"}, "lane", "No worker serves this lane; DELAYHUB['LANES'] has delayhub.timers"),
    ],
)
def test_a_mistake_is_named_at_its_field(fields: dict[str, Any], field: str, sentence: str) -> None:
    found = complaints(biz_type(**fields))

    assert list(found) == [field]
    assert sentence in found[field]


def test_all_mistakes_are_named_at_once() -> None:
    assert set(complaints(biz_type(url="", headers=[], lane="nobody"))) == {"url", "headers", "lane"}


def test_networks_that_a_deployment_allows_are_no_mistake(settings: Any) -> None:
    settings.DELAYHUB = {"ALLOWED_NETWORKS": ["10.0.0.0/8"]}

    assert complaints(biz_type(url="http://10.1.2.3/hook")) == {}


@pytest.mark.parametrize(("secret", "good"), [("whsec_" + "c2VjcmV0" * 4, True), ("short", False), ("whsec_ä", False)])
def test_a_secret_can_sign_or_says_why_not(secret: str, good: bool) -> None:
    assert (secret_complaint(secret) is None) == good
