"""Which columns are marked as secrets."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.apps import apps
from django.db import models

from delayhub.secrecy import Secrecy
from tasksapp.models import BizType
from tasksapp.models.columns import marked_columns, sealed_texts, secrecy_of_column

MODELS = list(apps.get_app_config("tasksapp").get_models(include_auto_created=True))
#: Words in the names of columns that hold secrets; and names with such a word of what is none.
SECRET = re.compile(r"secret|sealed|hash|token|passw|credential|signing|headers|address|url$")
NO_SECRET = {
    "previous_secret_until": "a time",
    "lease_token": "a number that guards the row; knowing it opens nothing",
    "request_hash": "of a request without its key, in a row that nothing shows",
    "request_headers": "stored masked",
    "response_headers": "what the receiver answered; it is shown with the body",
    "address": "where a person's request came from, in the audit",
}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_each_column_that_is_named_like_a_secret_is_marked(model: type[models.Model]) -> None:
    named = {field.name for field in model._meta.concrete_fields if SECRET.search(field.name)}

    unmarked = named - marked_columns(model).keys()

    assert unmarked <= NO_SECRET.keys()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_each_column_of_a_sealed_text_is_marked_as_a_secret(model: type[models.Model]) -> None:
    marks = marked_columns(model)

    assert {column: marks.get(column) for column in sealed_texts(model).values()} == dict.fromkeys(
        sealed_texts(model).values(), Secrecy.SECRET
    )


def test_a_sealed_text_is_a_secret_by_its_own_name_too() -> None:
    assert sealed_texts(BizType)["signing_secret"] == "signing_secret_sealed"
    assert secrecy_of_column("signing_secret") is Secrecy.SECRET


def test_a_mark_does_not_change_what_migrations_see() -> None:
    field: Any = BizType._meta.get_field("owner_url")

    _name, path, _args, options = field.deconstruct()

    assert path == "django.db.models.CharField"
    assert "secrecy" not in options
