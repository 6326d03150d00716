"""Which fields stand on which tab of a biz type."""

from __future__ import annotations

from itertools import chain

import pytest
from django.test import RequestFactory
from django.utils.functional import Promise

from tasksapp.admin.biz_types.tabs import FORMS, NEW, WHOLE, Fieldsets, fieldsets_of, tab_of
from tasksapp.admin.biz_types.texts import HELP, LABELS
from tasksapp.models import BizType

#: What stands on the Secrets page, since it decides whether credentials are typed again.
ON_SECRETS = {"auth", "token_url", "client_id", "token_fields"}
#: What has pages of its own.
ELSEWHERE = {"paused_until", *ON_SECRETS}


def fields_of(fieldsets: Fieldsets) -> list[str]:
    return list(chain.from_iterable(options["fields"] for _title, options in fieldsets))


def editable() -> set[str]:
    return {field.name for field in BizType._meta.fields if field.editable and not field.primary_key} - ELSEWHERE


def test_each_field_stands_on_one_tab_and_on_the_page_of_all_settings() -> None:
    on_tabs = list(chain.from_iterable(fields_of(fieldsets) for fieldsets in FORMS.values()))

    assert sorted(on_tabs) == sorted({*on_tabs})
    assert editable() <= set(on_tabs)
    assert sorted(fields_of(WHOLE)) == sorted(on_tabs)


def test_the_form_for_a_new_one_has_all_of_them_too() -> None:
    assert set(fields_of(NEW)) - {"auth_secret"} == editable() | ON_SECRETS


def test_each_field_says_what_it_is_and_what_it_does() -> None:
    fields = editable() | ON_SECRETS

    named = {field.name for field in BizType._meta.fields if isinstance(field.verbose_name, Promise)}
    assert fields <= named | set(LABELS)
    assert fields - set(HELP) <= {"method"}


@pytest.mark.parametrize(("asked", "tab"), [("limits", "limits"), ("all", "all"), ("", ""), ("now", ""), ("../x", "")])
def test_an_address_names_a_tab_or_none(asked: str, tab: str) -> None:
    request = RequestFactory().get("/", {"tab": asked})

    assert tab_of(request) == tab
    assert fieldsets_of(request) == FORMS.get(tab, WHOLE)
