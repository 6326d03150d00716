"""A key is replaced in the admin: the new one is shown once, the one before stays valid for as long as was chosen."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.access.callers import find_caller
from tasksapp.access.keys import issue_key
from tasksapp.models import ApiKey, AuditEntry

pytestmark = pytest.mark.django_db


def rotate(person: Client, row: ApiKey, **fields: Any) -> Any:
    return person.post(reverse("admin:tasksapp_apikey_rotate", args=[row.pk]), fields)


def test_both_keys_are_valid_until_the_overlap_ends(person: Client) -> None:
    row, old = issue_key("shop", scopes=["stats"])

    page = rotate(person, row, overlap="3600")

    (new,) = re.findall(r'<code id="new-api-key">([^<]+)</code>', page.content.decode())
    assert "no-store" in page["Cache-Control"]
    for key in (old, new):
        caller = find_caller(key)
        assert caller is not None
        assert (caller.key_id, caller.scopes) == (row.pk, {"stats"})
    form = person.get(reverse("admin:tasksapp_apikey_change", args=[row.pk])).content.decode()
    assert old[:11] in form
    assert new not in form

    ApiKey.objects.update(previous_until=timezone.now() - timedelta(seconds=1))
    assert find_caller(old) is None
    assert find_caller(new) is not None


def test_without_overlap_and_after_its_end_the_key_before_is_refused(person: Client) -> None:
    row, old = issue_key("shop")

    rotate(person, row, overlap="0")
    assert find_caller(old) is None

    rotate(person, row, overlap="86400")
    assert ApiKey.objects.get().previous_prefix
    answer = rotate(person, row, deed="end_previous")
    assert answer.status_code == 302
    assert ApiKey.objects.get().previous_prefix == ""
    assert set(AuditEntry.objects.values_list("verb", flat=True)) == {"key.rotate", "key.end_previous"}


def test_the_history_goes_on_over_replacements(person: Client) -> None:
    row, _ = issue_key("shop")
    first = row.prefix

    for _ in range(3):
        rotate(person, row, overlap="0")

    history = person.get(reverse("admin:tasksapp_apikey_history", args=[row.pk])).content.decode()
    assert history.count("rotate API key") == 3
    assert first in history


def test_it_takes_the_permission_to_change_keys_and_a_key_that_is_there(person: Client, client: Client) -> None:
    row, old = issue_key("shop")
    viewer = User.objects.create_user("eve", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_apikey"))
    client.force_login(viewer)

    assert rotate(client, row, overlap="0").status_code == 403
    assert client.get(reverse("admin:tasksapp_apikey_rotate", args=[row.pk])).status_code == 403
    assert rotate(person, row, overlap="5").status_code == 200  # the form again: there is no such choice
    assert person.get(reverse("admin:tasksapp_apikey_rotate", args=[999])).status_code == 404
    assert find_caller(old) is not None
