"""A tenant with jobs, and two sites between which it moves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tasksapp import jobs
from tasksapp.access.keys import issue_key
from tasksapp.models import Status, Tenant
from tasksapp.transfer import mover
from tests.fixture_types import MakeBizType
from tests.job_rows import store_job
from tests.moving_tenant import Road
from tests.second_database import second_database


@pytest.fixture(scope="module")
def _another_site(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The database of the other site."""
    with django_db_blocker.unblock(), second_database("there", folder=tmp_path_factory.mktemp("there")):
        with django_db_blocker.block():
            yield


@pytest.fixture
def road(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Road:
    made = Road(tmp_path)
    monkeypatch.setattr(mover.subprocess, "run", made.run)
    return made


@pytest.fixture
def key(make_biz_type: MakeBizType) -> str:
    """A tenant with two biz types, of which one is disabled, a key and three jobs, one of which is over."""
    acme = Tenant.objects.create(code="acme")
    biz_type = make_biz_type("order.close", tenant=acme, auth="basic", auth_secret="user:password")
    make_biz_type("order.old", tenant=acme, enabled=False)
    for number in range(2):
        jobs.create("order.close", tenant="acme", delay=600, biz_id=f"order-{number}")
    store_job(biz_type, Status.DEAD, attempts=3)
    store_job(biz_type, Status.SUCCEEDED)
    return issue_key("shop", tenant=acme, scopes=["jobs:read", "jobs:write"]).key
