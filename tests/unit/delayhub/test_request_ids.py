"""Ids of requests: the caller's own where it can stand in a log."""

from __future__ import annotations

import logging

import pytest

from delayhub.request_ids import RequestIdFilter, current_request_id, request_id


@pytest.mark.parametrize(
    "given", ["r-1", "01a1fcb9-e182-7773-bac4-bf777e5e56f2", "Root=1-67891233-abcdef012345678912345678", "x" * 128]
)
def test_a_sane_id_is_taken(given: str) -> None:
    assert request_id(given) == given


@pytest.mark.parametrize("given", [None, "", " ", "a b", 'a"', "a\r\nX: y", "x" * 129, "\u202er"])
def test_any_other_is_replaced(given: str | None) -> None:
    made = request_id(given)

    assert made != given
    assert made.isalnum()


def test_a_filter_gives_records_the_id() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "m", None, None)
    token = current_request_id.set("r-1")

    assert RequestIdFilter().filter(record)
    current_request_id.reset(token)

    assert record.__dict__["request_id"] == "r-1"
