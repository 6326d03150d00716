"""The versions of what the process is made of."""

from __future__ import annotations

from tasksapp.queues.system.report import versions_section


def test_versions_name_what_is_installed() -> None:
    found = versions_section().as_json()

    assert {"delayhub", "python", "django", "celery"} <= found.keys()
