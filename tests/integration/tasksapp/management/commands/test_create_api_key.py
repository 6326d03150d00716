"""``manage.py create_api_key NAME``: the key and nothing else, once."""

from __future__ import annotations

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tasksapp.access.keys import find_key
from tasksapp.models import ApiKey
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.commands import run_command

pytestmark = pytest.mark.django_db


def test_what_it_prints_is_a_key_that_works_and_can_be_piped_on() -> None:
    printed = run_command("create_api_key", " shop ")

    owner = find_key(printed.removesuffix("\n"))
    assert owner is not None
    assert owner.name == "shop"


def test_the_key_itself_is_not_kept() -> None:
    key = run_command("create_api_key", "shop").strip()

    assert key not in str(ApiKey.objects.values().get())


def test_a_name_is_used_once() -> None:
    run_command("create_api_key", "shop")

    with pytest.raises(CommandError, match="there is a key named 'shop' already"):
        run_command("create_api_key", "shop")
    assert ApiKey.objects.count() == 1


def test_a_key_needs_a_name() -> None:
    with pytest.raises(CommandError, match="a key needs a name"):
        run_command("create_api_key", " ")


def test_a_key_is_limited_to_scopes_biz_types_a_tenant_and_days(make_biz_type: MakeBizType) -> None:
    biz_type = make_biz_type("order.close")

    limits = ["--scope=stats", "--scope=keys", "--biz-type=order.close", "--tenant=default", "--days=30", "--owner=Ada"]
    run_command("create_api_key", "shop", *limits)

    row = ApiKey.objects.get()
    assert (row.scopes, row.biz_type_ids, row.owner) == (["stats", "keys"], [biz_type.pk], "Ada")
    assert row.expires_at is not None
    assert 29 < (row.expires_at - timezone.now()).total_seconds() / 86_400 < 31
    for wrong, complaint in {
        "--biz-type=no": "no biz type 'no'",
        "--tenant=no": "no tenant 'no'",
        "--days=-1": "expire in the past",
        "--days=99999999": "out of range",
    }.items():
        with pytest.raises(CommandError, match=complaint):
            run_command("create_api_key", "till", wrong)
