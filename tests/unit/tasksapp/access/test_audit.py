"""Entries of the audit, before they are stored: what changed, and nothing that is secret."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tasksapp.access.actors import OWN_CODE, RECEIVER, Actor
from tasksapp.access.audit import REASON_LENGTH, SMALL_BODY_BYTES, Deed, changes, entry, is_recorded

ADA = Actor("ada", "192.0.2.7")
AT = datetime(2026, 11, 22, 22, 31, 4, tzinfo=UTC)


def test_only_what_changed_is_kept() -> None:
    before = {"status": "pending", "priority": 5, "max_attempts": None}
    after = {"status": "cancelled", "priority": 5, "max_attempts": None}

    assert changes(before, after) == ({"status": "pending"}, {"status": "cancelled"})


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (AT, "2026-11-22T22:31:04+00:00"),
        (timedelta(hours=1), 3600.0),
        (None, None),
        (["a", 1], ["a", 1]),
        (True, True),
    ],
)
def test_values_are_kept_as_json(value: Any, kept: Any) -> None:
    assert changes({"a": "another"}, {"a": value}) == ({"a": "another"}, {"a": kept})


@pytest.mark.parametrize("name", ["version", "updated_at", "changed_by", "lease_until"])
def test_what_every_deed_changes_is_left_out(name: str) -> None:
    assert changes({name: 1}, {name: 2}) == ({}, {})


@pytest.mark.parametrize("name", ["auth_secret_sealed", "signing_secret_sealed", "headers", "hashed_key"])
def test_a_secret_is_never_in_an_entry(name: str) -> None:
    made = entry(Deed.EDIT_BIZ_TYPE, by=ADA, before={name: "old-s3cret"}, after={name: "new-s3cret"})

    assert (made.before, made.after) == ({}, {name: "changed"})


def test_a_small_body_is_kept_with_its_hash_and_a_large_one_by_its_hash_only() -> None:
    small, large = '{"card":"4711"}', "x" * (SMALL_BODY_BYTES + 1)

    old, new = changes({"body": small}, {"body": large})

    assert old["body"] == {"bytes": 15, "sha256": hashlib.sha256(small.encode()).hexdigest(), "text": small}
    assert new["body"] == {"bytes": len(large), "sha256": hashlib.sha256(large.encode()).hexdigest()}


def test_long_texts_are_cut_to_their_columns() -> None:
    made = entry("x", by=Actor("a" * 200), what="w" * 300, reason="r" * 900)

    assert (len(made.actor), len(made.what), len(made.reason)) == (150, 200, REASON_LENGTH)


@pytest.mark.parametrize(("by", "recorded"), [(None, False), (OWN_CODE, False), (ADA, True), (RECEIVER, True)])
def test_only_the_projects_own_code_is_not_recorded(by: Actor | None, recorded: bool) -> None:
    assert is_recorded(by) is recorded
