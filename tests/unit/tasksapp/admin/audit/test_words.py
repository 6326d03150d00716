"""Entries of the audit in words: of columns, of values, of deeds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import translation

from tasksapp.access.audit import Deed, body_mark
from tasksapp.admin.audit.words import changes_of, deed_label
from tasksapp.models import UNTIL_RESUMED, AuditEntry

READER: Any = SimpleNamespace(user=SimpleNamespace(has_perm=lambda name: True))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("status", "dead", "dead"),
        ("due_at", "2026-11-22T22:31:04+00:00", "2026-11-22 22:31:04"),
        ("paused_until", UNTIL_RESUMED.isoformat(), "until somebody resumes it"),
        ("enabled", False, "no"),
        ("max_attempts", None, "empty"),
        ("auth_secret_sealed", "changed", "changed"),
        ("body", body_mark('"x"'), '"x"'),
        ("body", {"bytes": 12_345}, "12,345 bytes"),
        ("url", "https://shop.example", "https://shop.example"),
        # of a value of several parts no Python
        (
            "job_filter",
            {"status": "dead", "biz_type": "order.close", "error_class": None},
            "status: dead, biz_type: order.close, error_class: empty",
        ),
    ],
)
def test_a_value_is_shown_as_people_say_it(name: str, value: Any, words: str) -> None:
    (change,) = changes_of(READER, AuditEntry(before={}, after={name: value}))

    assert (change.before, change.after) == ("", words)


def test_columns_and_deeds_have_names_in_each_language() -> None:
    ends = {f"operation.{state}" for state in ("done", "stopped", "failed")}
    assert ends <= set(Deed.values)
    assert all(deed.label for deed in Deed)
    entry = AuditEntry(before={"due_at": None}, after={"due_at": "2026-11-22T22:31:04+00:00"})

    with translation.override("zh-hans"):
        assert deed_label("redrive") == "重新投递"
        assert changes_of(READER, entry)[0][:2] == ("到期时间", "空")
    assert deed_label("somebody.elses") == "somebody.elses"
