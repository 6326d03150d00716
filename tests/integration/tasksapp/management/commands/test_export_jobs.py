"""``manage.py export_jobs`` and ``import_jobs``: what one prints the other takes in, or says why not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command

from tasksapp import jobs
from tasksapp.models import BizType, Job, Tenant
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command
from tests.second_database import second_database

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def elsewhere(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """Another database of the site."""
    with django_db_blocker.unblock(), second_database("elsewhere", folder=tmp_path_factory.mktemp("elsewhere")):
        with django_db_blocker.block():
            yield


@pytest.fixture
def acme(settings: Any, make_biz_type: MakeBizType) -> Tenant:
    """A tenant with one biz type, that has a secret, and two jobs."""
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}
    tenant = Tenant.objects.create(code="acme")
    make_biz_type("order.close", tenant=tenant, auth="basic", auth_secret="user:password")
    for _ in range(2):
        jobs.create("order.close", tenant="acme", delay=60)
    return tenant


@pytest.fixture
def key(tmp_path: Path) -> str:
    """A file with a transfer_key, as somebody types it."""
    file = tmp_path / "key"
    file.write_text(Fernet.generate_key().decode() + "\n")
    return str(file)


def exported(tmp_path: Path, *arguments: str) -> str:
    """The name of a file with what the command prints."""
    file = tmp_path / "acme.ndjson"
    file.write_text(run_command("export_jobs", *arguments))
    return str(file)


def forget(tenant: Tenant) -> None:
    Job.objects.all().delete()
    BizType.objects.all().delete()
    tenant.delete()


@pytest.mark.django_db(transaction=True, databases=["default", "elsewhere"])
def test_all_is_read_from_the_database_that_is_named(elsewhere: None) -> None:
    tenant = Tenant.objects.using("elsewhere").create(code="acme")
    BizType(tenant=tenant, code="order.close", url="https://shop.example/hooks").save(using="elsewhere")

    printed = run_command("export_jobs", "--tenant", "acme", "--database", "elsewhere")

    assert [json.loads(line).get("code") for line in printed.splitlines()] == [None, "order.close", None]
    with pytest.raises(CommandError, match="there is no tenant 'acme'"):
        run_command("export_jobs", "--tenant", "acme")


def test_a_tenant_is_exported_and_imported(acme: Tenant, key: str, tmp_path: Path) -> None:
    file = exported(tmp_path, "--tenant", "acme", "--key", key)
    forget(acme)

    looked = run_command("import_jobs", file, "--dry-run")
    nothing = Tenant.objects.filter(code="acme").exists()
    said, again = run_command("import_jobs", file, "--key", key), run_command("import_jobs", file, "--key", key)

    assert (looked, nothing) == ("whole: 1 biz type, 2 jobs. This was a dry run: nothing is stored.\n", False)
    assert said == "new: 1 biz type, 2 jobs\n"
    assert again == "new: nothing\nthere already: 1 biz type, 2 jobs\n"
    assert BizType.objects.get().label == "acme/order.close"


def test_a_tenant_that_is_new_brings_its_quotas_and_another_keeps_its_own(
    acme: Tenant, key: str, tmp_path: Path
) -> None:
    Tenant.objects.filter(pk=acme.pk).update(most_series=3, most_pending_jobs=20_000_000)
    file = exported(tmp_path, "--tenant", "acme", "--key", key)
    forget(acme)
    Tenant.objects.create(code="other", most_series=5)

    run_command("import_jobs", file, "--key", key)
    Job.objects.all().delete()
    run_command("import_jobs", file, "--key", key, "--tenant", "other")

    limits = {one.code: (one.most_series, one.most_pending_jobs, one.most_api_keys) for one in Tenant.objects.all()}
    assert (limits["acme"], limits["other"]) == ((3, 20_000_000, None), (5, None, None))


def test_it_can_become_another_tenants(acme: Tenant, key: str, tmp_path: Path) -> None:
    file = exported(tmp_path, "--tenant", "acme", "--key", key)
    forget(acme)

    run_command("import_jobs", file, "--key", key, "--tenant", "acme-eu", "--paused")

    assert BizType.objects.get().label == "acme-eu/order.close"
    assert BizType.objects.get().is_paused


def test_secrets_are_left_out_only_where_that_is_asked_for(acme: Tenant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there are secrets: give --key, or --without-secrets"):
        run_command("export_jobs", "--tenant", "acme")

    told = StringIO()
    call_command("export_jobs", "--tenant", "acme", "--without-secrets", stdout=StringIO(), stderr=told)
    assert told.getvalue() == "1 secret was left out: set it again where it is imported\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export_jobs", "--tenant", "nobody"), "there is no tenant 'nobody'"),
        (("export_jobs", "--key", "missing"), "missing: .*No such file"),
        (("import_jobs", "missing"), "missing: .*No such file"),
        (("import_jobs", "Makefile"), "Makefile: line 1 is no JSON"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(db: None, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        run_command(*arguments)


def test_a_key_that_is_none_is_refused(acme: Tenant, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong"
    wrong.write_text("secret")

    with pytest.raises(CommandError, match="the key must be 32 bytes in URL-safe base64"):
        run_command("export_jobs", "--tenant", "acme", "--key", str(wrong))


def test_what_was_left_out_ends_the_command_with_an_error(acme: Tenant, key: str, tmp_path: Path) -> None:
    file = exported(tmp_path, "--tenant", "acme", "--key", key)

    with pytest.raises(CommandError, match=r"2 rows were left out:\njob .*: a job of another biz type has that id"):
        run_command("import_jobs", file, "--key", key, "--tenant", "mallory")
