"""A person who may not see bodies is shown how long they are, and no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tasksapp.access.audit import body_mark
from tasksapp.admin.frame.masking import hidden, masked_body, masked_changes, may_see_bodies

BODY = '{"card":"4711"}'


def of_person(*permissions: str) -> Any:
    return SimpleNamespace(user=SimpleNamespace(has_perm=lambda name: name in permissions))


READER, STRANGER = of_person("tasksapp.view_job_body"), of_person("tasksapp.view_job")


def test_bodies_are_seen_by_those_with_the_permission() -> None:
    assert may_see_bodies(READER)
    assert not may_see_bodies(STRANGER)
    assert "4711" in masked_body(READER, BODY)
    assert masked_body(STRANGER, BODY) == hidden(BODY)
    assert "4711" not in hidden(BODY)
    assert "15 bytes" in hidden(BODY)


def test_a_text_that_is_no_json_is_shown_as_it_is() -> None:
    assert "&lt;b&gt;" in masked_body(READER, "<b>")


def test_a_body_in_the_audit_shows_neither_its_text_nor_its_hash() -> None:
    changed = {"body": body_mark(BODY), "priority": 3}

    assert masked_changes(READER, changed) == changed
    assert masked_changes(STRANGER, changed) == {"body": {"bytes": 15}, "priority": 3}
