"""Defaults of ours go by the names that Celery's own have, which depend on what the project uses."""

from __future__ import annotations

from typing import Any

import pytest
from celery import Celery

from delayhub.celery_support.default_settings import are_settings_made, put_defaults


@pytest.mark.parametrize(
    ("settings", "name"),
    [({"task_ignore_result": True}, "task_acks_late"), ({"CELERY_IGNORE_RESULT": True}, "CELERY_ACKS_LATE")],
    ids=["new names", "old names"],
)
def test_a_default_stands_once_above_celerys_own_and_by_its_name(settings: dict[str, Any], name: str) -> None:
    with Celery("shop", set_as_current=False) as app:
        app.config_from_object(settings)
        conf: Any = app.conf
        assert conf.task_acks_late is False

        assert put_defaults(conf, {"task_acks_late": True})
        assert not put_defaults(conf, {"task_acks_late": True})

        assert conf.maps[-2] == {name: True}
        assert name in conf.maps[-1]
        assert conf.task_acks_late is True


def test_settings_are_made_once_one_was_read() -> None:
    with Celery("shop", set_as_current=False) as app:
        before = are_settings_made(app)

        app.conf.get("task_acks_late")

        assert not before
        assert are_settings_made(app)
