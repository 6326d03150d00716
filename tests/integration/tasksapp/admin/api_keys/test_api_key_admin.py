"""API keys in the admin."""

from __future__ import annotations

import logging
import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasksapp.access.callers import find_caller
from tasksapp.access.keys import find_key, issue_key
from tasksapp.models import ApiKey, AuditEntry, BizType
from tests.fixture_types import MakeBizType

pytestmark = pytest.mark.django_db


def add(person: Client, name: str, /, **fields: Any) -> Any:
    """The answer to the form for a new key."""
    typed = {"name": name, "enabled": "on", "scopes": ["jobs:read"], **fields}
    return person.post(reverse("admin:tasksapp_apikey_add"), typed)


def change(person: Client, row: ApiKey, **fields: Any) -> Any:
    """The answer to the form of a key that is there, with these fields changed."""
    typed = {"name": row.name, "owner": row.owner, "enabled": "on", "scopes": row.scopes, "seen": row.version}
    return person.post(reverse("admin:tasksapp_apikey_change", args=[row.pk]), {**typed, **fields})


def key_on(page: str) -> str:
    """The key that a page shows."""
    (key,) = re.findall(r'<code id="new-api-key">([^<]+)</code>', page)
    return str(key)


@pytest.mark.parametrize("button", ["_save", "_continue", "_addanother"])
def test_an_api_key_is_shown_once_and_works(person: Client, button: str) -> None:
    answer = add(person, "shop", **{button: "on"})

    key = key_on(answer.content.decode())
    owner = find_key(key)
    assert owner is not None
    assert owner.name == "shop"
    for page in (reverse("admin:tasksapp_apikey_change", args=[owner.id]), reverse("admin:tasksapp_apikey_changelist")):
        assert key not in person.get(page).content.decode()


def test_a_new_key_is_in_no_cookie_no_session_no_log_and_no_cache(
    person: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        answer = add(person, "shop")

    key = key_on(answer.content.decode())
    assert key not in str(answer.cookies)
    assert key not in str(person.cookies)
    assert all(key not in str(session.get_decoded()) for session in Session.objects.all())
    assert key not in caplog.text
    assert key not in str(list(LogEntry.objects.values()))
    assert "no-store" in answer["Cache-Control"]


def test_a_form_that_is_sent_again_makes_no_second_key_and_shows_none(person: Client) -> None:
    add(person, "shop")

    again = add(person, "shop")

    assert "There is a key of that name already." in again.content.decode()
    assert "new-api-key" not in again.content.decode()
    assert ApiKey.objects.count() == 1


def test_changing_a_key_leaves_the_key_itself(person: Client) -> None:
    key = key_on(add(person, "shop").content.decode())

    change(person, ApiKey.objects.get(), name="the shop")

    found = find_key(key)
    assert found is not None
    assert found.name == "the shop"


def test_a_key_gets_an_owner_an_end_and_the_scopes_and_biz_types_that_were_chosen(
    person: Client, make_biz_type: MakeBizType
) -> None:
    one, _ = make_biz_type("one"), make_biz_type("two")
    chosen = {"owner": "Ada", "scopes": ["stats", "keys"], "biz_types": [one.pk]}

    page = add(person, "shop", **chosen, expires_at="2099-01-31T09:00:00").content.decode()

    caller = find_caller(key_on(page))
    assert caller is not None
    assert (caller.scopes, caller.biz_type_ids) == ({"stats", "keys"}, {one.pk})
    row = ApiKey.objects.get()
    assert (row.owner, row.expires_at) == ("Ada", datetime(2099, 1, 31, 9, tzinfo=UTC))
    entry = AuditEntry.objects.get()
    assert entry.after["biz_types"] == ["one"]
    listed = person.get(reverse("admin:tasksapp_apikey_changelist")).content.decode()
    assert "stats, keys" in listed
    assert "1 biz type" in listed


def test_biz_types_are_chosen_from_a_list_with_a_search_that_is_a_plain_list_without_javascript(
    person: Client, make_biz_type: MakeBizType
) -> None:
    make_biz_type("order.close")

    page = person.get(reverse("admin:tasksapp_apikey_add")).content.decode()

    (chooser,) = re.findall(r'<select[^>]* name="biz_types"[^>]*>', page)
    assert 'class="selectfilter"' in chooser
    assert " multiple" in chooser
    assert "order.close</option>" in page
    assert "/admin/js/SelectFilter2" in page
    assert f'src="{reverse("admin:jsi18n")}"' in page


@pytest.mark.parametrize(
    ("typed", "complaint"),
    [
        ({"scopes": []}, "This field is required."),
        ({"scopes": ["root"]}, "is not one of the available choices"),
        ({"biz_types": ["123456"]}, "is not one of the available choices"),
        ({"expires_at": "2001-01-01T00:00"}, "cannot expire in the past"),
        ({"name": "two\nlines"}, "control characters"),
    ],
)
def test_a_key_that_there_cannot_be_is_not_issued(person: Client, typed: dict[str, Any], complaint: str) -> None:
    page = add(person, "shop", **typed).content.decode()

    assert complaint in page
    assert not ApiKey.objects.exists()


def test_a_key_whose_biz_types_were_deleted_does_not_come_to_see_all_by_another_change(
    person: Client, make_biz_type: MakeBizType
) -> None:
    gone = make_biz_type("gone")
    issue_key("shop", biz_type_ids=[gone.pk])
    BizType.objects.all().delete()

    change(person, ApiKey.objects.get(), owner="Ada")

    row = ApiKey.objects.get()
    assert (row.owner, row.biz_type_ids) == ("Ada", [gone.pk])


def test_a_form_that_somebody_else_overtook_stores_nothing_until_it_is_sent_again(person: Client) -> None:
    add(person, "shop")
    row = ApiKey.objects.get()
    change(person, row, owner="Ada")

    page = change(person, row, owner="Bob")
    assert "Somebody changed this key" in page.content.decode()
    assert ApiKey.objects.get().owner == "Ada"
    assert f'name="seen" value="{row.version + 1}"' in page.content.decode()

    change(person, ApiKey.objects.get(), owner="Bob")
    assert ApiKey.objects.get().owner == "Bob"


def test_what_is_changed_holds_at_the_next_call_and_is_in_the_history(person: Client) -> None:
    key = key_on(add(person, "shop").content.decode())
    row = ApiKey.objects.get()

    change(person, row, scopes=["jobs:read", "stats"], enabled="")

    assert find_caller(key) is None
    deeds = {entry.verb: entry for entry in AuditEntry.objects.all()}
    assert set(deeds) == {"key.issue", "key.edit", "key.disable"}
    assert deeds["key.edit"].before == {"scopes": ["jobs:read"]}
    history = person.get(reverse("admin:tasksapp_apikey_history", args=[row.pk])).content.decode()
    assert "change API key" in history
    assert "jobs:read, stats" in history


def test_the_last_use_shows_when_and_from_where(person: Client) -> None:
    issue_key("shop", last_used_at=timezone.now(), last_used_from="192.0.2.7")

    assert "192.0.2.7" in person.get(reverse("admin:tasksapp_apikey_changelist")).content.decode()


def test_the_list_of_many_keys_takes_few_queries(person: Client, django_assert_max_num_queries: Any) -> None:
    for number in range(30):
        issue_key(f"shop {number}", biz_type_ids=[1, 2])

    with django_assert_max_num_queries(9):  # two are for the session and the person
        person.get(reverse("admin:tasksapp_apikey_changelist"))
