"""A biz type as callers see it: its secrets stay inside."""

from __future__ import annotations

import json

from tasksapp.api.representation.biz_type import BizTypeSerializer, biz_type_json
from tasksapp.models import UNTIL_RESUMED, BizType


def biz_type() -> BizType:
    return BizType(
        code="order.close",
        name="Close unpaid orders",
        url="https://receiver.example/hook",
        paused_until=UNTIL_RESUMED,
        signing_secret="whsec_" + "c2VjcmV0" * 4,
        auth_secret="user:password",
        headers={"X-Token": "hidden"},
    )


def test_it_shows_what_a_caller_may_know() -> None:
    assert biz_type_json(biz_type()) == {
        "code": "order.close",
        "name": "Close unpaid orders",
        "description": "",
        "enabled": True,
        "paused_until": "9999-12-31T00:00:00Z",
        "target": "http",
        "signed": True,
        "max_attempts": 16,
        "timeout_seconds": 10.0,
        "guarantee": "at_least_once",
        "lane": "delayhub.timers",
    }


def test_no_secret_address_or_header_is_shown() -> None:
    shown = json.dumps(biz_type_json(biz_type()))

    for hidden in ("whsec", "c2VjcmV0", "password", "receiver.example", "X-Token"):
        assert hidden not in shown


def test_it_has_the_fields_that_are_described() -> None:
    described = BizTypeSerializer(data=biz_type_json(biz_type()))

    assert list(described.initial_data) == list(described.fields)
    assert described.is_valid(), described.errors
