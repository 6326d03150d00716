"""``manage.py purge_jobs``"""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError

from tasksapp.models import Attempt, Job, Tenant
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command
from tests.integration.tasksapp.stored_jobs import ended

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)


def test_the_command_says_what_it_did(make_biz_type: MakeBizType) -> None:
    ended(make_biz_type("daily", retention=DAY), 2 * DAY, attempts=3)

    assert run_command("purge_jobs") == "deleted 1 job, 3 attempts, 0 idempotency keys\n"
    assert run_command("purge_jobs") == "deleted 0 jobs, 0 attempts, 0 idempotency keys\n"


def test_a_dry_run_deletes_nothing(make_biz_type: MakeBizType) -> None:
    ended(make_biz_type("daily", retention=DAY), 2 * DAY, attempts=3)
    make_biz_type("hourly", retention=timedelta(hours=1))

    said = run_command("purge_jobs", "--dry-run")

    assert said.splitlines() == [
        "daily: 1 job, 3 attempts",
        "hourly: 0 jobs, 0 attempts",
        "would delete 1 job, 3 attempts, 0 idempotency keys",
    ]
    assert Job.objects.count() == 1
    assert Attempt.objects.count() == 3


def test_one_biz_type_can_be_purged_by_itself(make_biz_type: MakeBizType) -> None:
    for code in ("a", "b"):
        ended(make_biz_type(code, retention=DAY), 2 * DAY)

    run_command("purge_jobs", "--biz-type", "a")

    assert Job.objects.get().biz_type.code == "b"
    with pytest.raises(CommandError, match="there is no biz type nobody"):
        run_command("purge_jobs", "--biz-type", "nobody")


def test_one_tenant_can_be_purged_by_itself(make_biz_type: MakeBizType) -> None:
    acme = Tenant.objects.create(code="acme")
    for code, tenant in (("a", None), ("a", acme), ("b", acme)):
        ended(make_biz_type(code, retention=DAY, **({"tenant": tenant} if tenant else {})), 2 * DAY)

    said = run_command("purge_jobs", "--tenant", "acme", "--biz-type", "b", "--dry-run")
    run_command("purge_jobs", "--tenant", "acme")

    assert said.splitlines()[0] == "acme/b: 1 job, 1 attempt"
    assert Job.objects.get().biz_type.label == "a"
    with pytest.raises(CommandError, match="there is no tenant 'acne'"):
        run_command("purge_jobs", "--tenant", "acne")
