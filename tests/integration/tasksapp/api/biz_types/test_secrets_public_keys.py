"""Public keys, for receivers: no login, no secrets, nothing about biz types that have none."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from tasksapp.biz_types import verbs
from tasksapp.models import BizType

pytestmark = pytest.mark.django_db


def test_a_receiver_finds_the_keys_that_sign_now_without_a_login(client: Client, biz_type: BizType) -> None:
    first, second = verbs.make_key_pair(biz_type), verbs.make_key_pair(biz_type)

    answer = client.get(f"/api/public-keys/{biz_type.pk}")

    assert answer.json() == {"keys": [second, first]}
    assert answer.headers["Cache-Control"] == "public, max-age=300"
    BizType.objects.update(previous_key_until=timezone.now() - timedelta(seconds=1))
    assert client.get(f"/api/public-keys/{biz_type.pk}").json() == {"keys": [second]}


def test_a_biz_type_without_a_key_looks_like_none(client: Client, biz_type: BizType) -> None:
    answers = [client.get(f"/api/public-keys/{number}") for number in (biz_type.pk, biz_type.pk + 1, 2**70)]

    assert [answer.status_code for answer in answers] == [404] * 3
    assert len({answer.json()["title"] for answer in answers}) == 1
    assert client.post(f"/api/public-keys/{biz_type.pk}").status_code == 405
