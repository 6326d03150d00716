"""A pytest plugin for Celery's own integration tests: each app that they make is one on which DelayHub is installed."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

import delayhub

APPS = {"celery_app", "celery_session_app"}


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """Installs DelayHub on what the fixtures of Celery's suite return as their app."""
    made = yield
    if fixturedef.argname in APPS:
        delayhub.install(made)
    return made
