"""A biz type as a whole, judged where a person edits it: every mistake is named at its field."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasksapp.biz_types.target import target_of
from tasksapp.biz_types.validation import (
    HIGHEST_RATE,
    LONGEST_AGE,
    LONGEST_BACKOFF_SECONDS,
    auth_complaint,
    complaints,
    must_type_credentials,
    secret_complaint,
)
from tasksapp.delivery.route import Route
from tasksapp.models import BizType
from tests.property_sizes import examples


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
        {"permanent_status_codes": [300, 599]},
        {"insert_rate": 0.001, "delivery_rate": HIGHEST_RATE},
        {"backoff_min_seconds": 5, "backoff_max_seconds": 5},
        {"max_age": timedelta(0), "retention": None, "max_lateness": LONGEST_AGE},
        {"target": "celery", "url": "", "task_name": "shop.close", "task_queue": "shop"},
        {"owner_mail": "ann@shop.example, bob@shop.example,", "owner_url": "https://chat.example/hook"},
    ],
)
def test_what_can_work_has_no_complaint(fields: dict[str, Any], settings: Any) -> None:
    settings.DELAYHUB = {"ALLOWED_TASKS": ["shop.*"], "ALLOWED_QUEUES": ["shop"]}

    assert complaints(biz_type(**fields)) == {}


@pytest.mark.parametrize(
    ("fields", "field", "sentence"),
    [
        ({"url": ""}, "url", "Give the address"),
        ({"url": "ftp://receiver.example/"}, "url", "http"),
        ({"url": "http://127.0.0.1/"}, "url", "not a public address"),
        ({"target": "celery", "task_name": ""}, "task_name", "Name the Celery task"),
        ({"owner_mail": "ann@shop.example, bob"}, "owner_mail", "bob is no mail address"),
        ({"owner_url": "http://10.0.0.1/alerts"}, "owner_url", "not a public address"),
        # headers that are none, are ours, or would be two
        ({"headers": []}, "headers", "must be a JSON object"),
        ({"headers": {"X Team": "a"}}, "headers", "'X Team' cannot be a header's name"),
        ({"headers": {"": "a"}}, "headers", "cannot be a header's name"),
        ({"headers": {"Host": "a"}}, "headers", "Host is set by the delivery itself"),
        ({"headers": {"Webhook-Id": "a"}}, "headers", "set by the delivery itself"),
        ({"headers": {"delayhub-attempt": "a"}}, "headers", "set by the delivery itself"),
        ({"headers": {"X-A": "a\r\nX-Evil: b"}}, "headers", "one line of ASCII text"),
        ({"headers": {"X-A": "ä"}}, "headers", "one line of ASCII text"),
        ({"headers": {"authorization": "Bearer a"}}, "headers", "use the auth secret"),
        ({"headers": {"Proxy-Authorization": "Basic a"}}, "headers", "use the auth secret"),
        ({"headers": {"Cookie": "a=b"}}, "headers", "use the auth secret"),
        ({"headers": {"X-A": 7}}, "headers", "one line of ASCII text"),
        # few receivers take so much
        ({"headers": {"X-A": "a" * 4_090}}, "headers", "The headers may have 4096 bytes in all, these have 4097"),
        ({"target": "pull", "token_fields": {"scope": {}}}, "token_fields", "must be a JSON object of texts"),
        # lists that are none, or have something else in them
        ({"backoff": "list", "backoff_list": []}, "backoff_list", "Give at least one wait"),
        ({"backoff_list": "10"}, "backoff_list", "must be a list of seconds"),
        ({"backoff_list": [True]}, "backoff_list", "must be a list of seconds"),
        ({"backoff_list": [-1]}, "backoff_list", "must be a list of seconds"),
        ({"backoff_list": [LONGEST_BACKOFF_SECONDS + 1]}, "backoff_list", "must be a list of seconds"),
        ({"permanent_status_codes": {}}, "permanent_status_codes", "must be a list of HTTP status codes"),
        # 2xx is a success, whatever a list says, and 1xx is never the answer
        ({"permanent_status_codes": [200]}, "permanent_status_codes", "HTTP status codes from 300 to 599"),
        ({"permanent_status_codes": [103]}, "permanent_status_codes", "HTTP status codes from 300 to 599"),
        ({"permanent_status_codes": [99]}, "permanent_status_codes", "must be a list of HTTP status codes"),
        ({"permanent_status_codes": [600]}, "permanent_status_codes", "must be a list of HTTP status codes"),
        ({"permanent_status_codes": [True]}, "permanent_status_codes", "must be a list of HTTP status codes"),
        # times that are in the wrong order, or longer than anything lasts
        ({"backoff_min_seconds": 9, "backoff_max_seconds": 8}, "backoff_max_seconds", "not be less than the shortest"),
        ({"backoff_max_seconds": LONGEST_BACKOFF_SECONDS + 1}, "backoff_max_seconds", "at most a year"),
        ({"max_age": timedelta(seconds=-1)}, "max_age", "from 0 to 3652 days"),
        ({"retention": LONGEST_AGE + timedelta(seconds=1)}, "retention", "from 0 to 3652 days"),
        # rates that are no numbers of jobs a second
        ({"insert_rate": 1e308}, "insert_rate", "at most 1_000_000"),
        ({"delivery_rate": float("inf")}, "delivery_rate", "at most 1_000_000"),
        ({"delivery_rate": float("nan")}, "delivery_rate", "at most 1_000_000"),
        ({"delivery_rate": 0}, "delivery_rate", "at most 1_000_000"),
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


@pytest.mark.parametrize(
    ("auth", "secret", "sentence"),
    [
        ("none", "", None),
        ("bearer", "abc.DEF-123~+/==", None),
        ("basic", "shop:pässword with blanks", None),
        ("basic", "shop:", None),
        ("bearer", "", "Type the credentials"),
        ("basic", "", "Type the credentials"),
        # what would end the header's line, or begin another
        ("bearer", "a\r\nX-Evil: b", "no blanks"),
        ("basic", "user:pass\nword", "in one line"),
        ("bearer", "tökén", "of ASCII"),
        ("bearer", "two words", "no blanks"),
        ("basic", "without a colon", "user:password"),
    ],
)
def test_credentials_can_be_sent_or_say_why_not(auth: str, secret: str, sentence: str | None) -> None:
    found = auth_complaint(auth, secret)

    assert found is None if sentence is None else sentence in str(found)


@pytest.mark.parametrize(
    ("url", "may_stay"),
    [
        ("https://shop.example/other?path=1", True),
        ("https://SHOP.example:443/hooks", True),
        ("http://shop.example/hooks", False),
        ("https://shop.example:8443/hooks", False),
        ("https://evil.example/hooks", False),
        ("https://shop.example.evil.example/hooks", False),
        ("", False),
    ],
)
def test_stored_credentials_stay_with_their_scheme_host_and_port(url: str, *, may_stay: bool) -> None:
    before = biz_type(url="https://shop.example/hooks", auth="bearer")

    found = must_type_credentials(before, biz_type(url=url, auth="bearer"))

    assert (found is None) == may_stay


def test_credentials_of_another_kind_are_typed_again() -> None:
    assert must_type_credentials(biz_type(auth="basic"), biz_type(auth="bearer")) is not None


odd_text = st.text(st.characters(codec="utf-8"), max_size=80)
hosts = st.one_of(
    st.lists(odd_text, max_size=4).map(".".join),
    st.from_regex(r"[a-z0-9.%:\[\]@_-]{1,70}", fullmatch=True),
    st.ip_addresses().map(str),
)
urls = st.one_of(
    st.builds("{}://{}{}".format, st.sampled_from(["http", "https", "HTTP"]), hosts, odd_text),
    st.builds("https://shop.example/{}".format, odd_text),
)


@settings(max_examples=examples(60), deadline=None)
@given(
    url=urls,
    headers=st.dictionaries(odd_text | st.just("X-A"), odd_text | st.integers(), max_size=3),
    auth=st.sampled_from(["none", "basic", "bearer"]),
    secret=odd_text,
    codes=st.lists(st.integers() | st.booleans(), max_size=3),
)
@example("http://a..b/", {}, "none", "", [])
@example("http://./", {}, "none", "", [])
@example(f"http://{'a' * 64}.example/", {}, "none", "", [])
@example("http://a%00b/", {}, "none", "", [])
@example("http://\uff11.\uff11.\uff11.\uff11/", {}, "none", "", [])
@example("http://a b/", {}, "none", "", [])
@example("http://[fe80::1%25eth0]/", {}, "none", "", [])
@example("https://shop.example/", {"X-A": "a"}, "bearer", "abc", [404])
def test_a_request_can_be_built_for_whatever_is_accepted(
    url: str, headers: dict[str, Any], auth: str, secret: str, codes: list[Any]
) -> None:
    accepted = biz_type(url=url, headers=headers, auth=auth, permanent_status_codes=codes)
    accepted.updated_at = datetime(2026, 1, 1, tzinfo=UTC)
    accepted.auth_secret = secret
    if complaints(accepted) or auth_complaint(auth, secret):
        return

    async def head() -> str:
        route = Route(target_of(accepted, now=accepted.updated_at), user_agent="DelayHub")
        route.url.raw_host.encode("idna")  # as the resolver does
        return route.head

    lines = asyncio.run(head()).split("\r\n")
    assert lines.pop() == ""
    assert all(line.isascii() and line.isprintable() for line in lines)
    assert sum(line.lower().startswith("authorization:") for line in lines) == (auth != "none")


def test_credentials_that_few_receivers_take_are_refused() -> None:
    assert auth_complaint("bearer", "a" * 2_048) is None
    assert "2048 characters, these have 2049" in str(auth_complaint("bearer", "a" * 2_049))
