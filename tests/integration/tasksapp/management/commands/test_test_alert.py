"""``manage.py test_alert`` sends a message, or says why it cannot."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core import mail
from django.core.management import CommandError, call_command

from tasksapp.models import Tenant
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


def test_it_sends_to_the_owner_of_a_biz_type(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", owner_mail="ann@team.example")
    said = StringIO()

    call_command("test_alert", biz_type="order.close", stdout=said)

    assert said.getvalue() == "mail ann@team.example: sent\n"
    assert mail.outbox[0].to == ["ann@team.example"]


def test_a_biz_type_of_a_tenant_is_named_with_it(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", tenant=Tenant.objects.create(code="acme"), owner_mail="ada@acme.example")
    make_biz_type("order.close", owner_mail="ann@team.example")

    for label in ("acme/order.close", "order.close"):
        call_command("test_alert", biz_type=label, stdout=StringIO())

    assert [message.to for message in mail.outbox] == [["ada@acme.example"], ["ann@team.example"]]


def test_of_a_webhook_it_repeats_the_host_alone(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close", owner_url="http://10.0.0.1/hooks/a-secret-path?token=s3cret")
    said = StringIO()

    with pytest.raises(CommandError, match="1 of 1 messages were not sent"):
        call_command("test_alert", biz_type="order.close", stdout=said)

    assert said.getvalue().startswith("webhook http://10.0.0.1: callbacks may not go to")
    assert "secret" not in said.getvalue()
    assert "s3cret" not in said.getvalue()


def test_it_ends_with_an_error_where_nothing_is_sent(settings: Any, make_biz_type: MakeBizType) -> None:
    with pytest.raises(CommandError, match="no owner"):
        call_command("test_alert")
    with pytest.raises(CommandError, match="no biz type 'x'"):
        call_command("test_alert", biz_type="x")
    make_biz_type("order.close", owner_url="http://10.0.0.1/")
    with pytest.raises(CommandError, match="1 of 1 messages were not sent"):
        call_command("test_alert", biz_type="order.close", stdout=StringIO())
