"""A biz type as callers see it: its secrets stay inside."""

from __future__ import annotations

import json

from tasksapp.api.biz_types.representation import BizTypeSerializer, biz_type_json, etag_of
from tasksapp.models import UNTIL_RESUMED, BizType

NOW = "2027-01-31T08:00:00Z"


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
    shown = biz_type_json(biz_type())

    assert {name for name, value in shown.items() if value is None} >= {"url", "headers", "owner_mail", "owner_url"}
    assert (shown["code"], shown["max_attempts"], shown["retention_seconds"]) == ("order.close", 16, 2_592_000)
    assert (shown["paused_until"], shown["signed"], shown["has_credentials"]) == ("9999-12-31T00:00:00Z", True, True)


def test_no_secret_address_or_header_is_shown_to_readers() -> None:
    shown = json.dumps(biz_type_json(biz_type()))

    for hidden in ("whsec", "c2VjcmV0", "password", "receiver.example", "X-Token"):
        assert hidden not in shown


def test_no_secret_is_shown_to_those_who_may_change_it() -> None:
    shown = json.dumps(biz_type_json(biz_type(), shows_all=True))

    assert "https://receiver.example/hook" in shown
    for hidden in ("whsec", "c2VjcmV0", "password"):
        assert hidden not in shown


def test_it_has_the_fields_that_are_described() -> None:
    shown = {**biz_type_json(biz_type(), shows_all=True), "created_at": NOW, "updated_at": NOW}
    described = BizTypeSerializer(data=shown)

    assert list(described.initial_data) == list(described.fields)
    assert described.is_valid(), described.errors


def test_each_state_of_a_row_has_another_etag() -> None:
    one, same, other = biz_type(), biz_type(), biz_type()
    one.auth_secret_sealed = same.auth_secret_sealed = other.auth_secret_sealed = "sealed"
    one.signing_secret_sealed = same.signing_secret_sealed = "sealed"
    other.signing_secret_sealed = "another"

    assert etag_of(one) == etag_of(same) != etag_of(other)
