"""Unique texts in every option and every column that can hold a secret, to be looked for wherever something is shown.

The options and columns are found by their types and marks, so that a new one is among them.
"""

from __future__ import annotations

import itertools
import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from celery import Celery
from cryptography.fernet import Fernet
from django.apps import apps
from django.db import models

from delayhub.secrecy import Secrecy
from tasksapp import conf
from tasksapp.delivery.own_request import OwnRequest
from tasksapp.models import AlertMessage, ApiKey, BizType
from tasksapp.models.columns import marked_columns, sealed_texts
from tasksapp.models.encrypted_text import seal
from tests.certificates import made

_numbers = itertools.count(1)


def marker(place: str) -> str:
    """A text that stands nowhere else; it says where it was planted."""
    return f"planted{next(_numbers):04}{''.join(filter(str.isalnum, place))}"


@dataclass
class Planted:
    """What was planted.

    Args:
        secrets: texts that no one may ever be shown.
        for_changers: texts that those may see who may change the row that they stand in.
    """

    secrets: list[str] = field(default_factory=list)
    for_changers: list[str] = field(default_factory=list)

    def seen_in(self, text: str, *, by_changer: bool = False) -> list[str]:
        """Those in the text that should not be there."""
        return found_in(text, self.secrets if by_changer else [*self.secrets, *self.for_changers])


def found_in(text: str, markers: Iterable[str]) -> list[str]:
    return [one for one in markers if one in text]


def secret_options() -> list[str]:
    """The names of the options that hold text and are not marked as open."""
    return [
        one.name
        for one in fields(conf.Options)
        if not isinstance(one.default, bool | int | float) and conf.secrecy_of(one.name) is not Secrecy.OPEN
    ]


def plant_options(settings: Any, planted: Planted, *, redis_port: int = 1) -> None:
    """A marker in each option of ``DELAYHUB``, in a value that the checks take; and in Django's and Celery's."""
    given = dict(settings.DELAYHUB)
    for name in secret_options():
        text = marker(name)
        value = {
            "redis_url": f"redis://:{text}@127.0.0.1:{redis_port}/0",
            "owner_secret": "whsec_" + b64encode(f"{text}, padded to be long".encode()).decode(),
            "encryption_keys": Fernet.generate_key().decode(),
        }.get(name, f"https://host.example/{text}?token={text}")
        is_list = isinstance(getattr(conf.Options(), name), tuple)
        given[name.upper()] = [value] if is_list else value
        planted.secrets.append(text if text in value else value)
    settings.DELAYHUB = given
    for name in ("EMAIL_HOST_PASSWORD", "CELERY_RESULT_BACKEND"):
        text = marker(name)
        setattr(settings, name, text if name.endswith("PASSWORD") else f"redis://:{text}@127.0.0.1:1/1")
        planted.secrets.append(text)


def plant_broker(celery: Celery, planted: Planted) -> None:
    """Markers in the URL and the options of Celery's broker, and in that of its results."""
    url, sentinel, backend = marker("brokerurl"), marker("sentinel"), marker("backend")
    celery.conf.broker_url = f"delayhub://user:{url}@127.0.0.1:1/0"
    celery.conf.broker_transport_options = {"sentinel_kwargs": {"password": sentinel}}
    celery.conf.result_backend = f"redis://:{backend}@127.0.0.1:1/1"
    planted.secrets += [url, sentinel, backend]


def plant_rows(planted: Planted) -> None:
    """A marker in each secret column of each row, and in what jobs and series bring as their own request."""
    for model in apps.get_app_config("tasksapp").get_models(include_auto_created=True):
        for row in model._base_manager.all() if model._meta.managed else ():
            _plant(model, row, planted)


def _sealed_value(column: str, text: str) -> str:
    """What can stand in the column, made of the text: an attempt that cannot be signed is never made."""
    if "signing_secret" in column:
        return "whsec_" + b64encode(text.encode() * 2).decode()
    if "signing_key" in column:
        return "whsk_" + b64encode(text.encode().rjust(32, b"-")[-32:]).decode()
    if "client_certificate" in column:
        identity = made("delayhub")
        return f"{text}\n{identity.key_pem}{identity.pem}"
    return text


def _plant(model: type[models.Model], row: Any, planted: Planted) -> None:
    changed: dict[str, Any] = {}
    sealed = {column: name for name, column in sealed_texts(model).items()}
    for column, secrecy in marked_columns(model).items():
        if getattr(row, "channel", "") == AlertMessage.Channel.MAIL:
            continue  # its address is no URL
        text = marker(column)
        if column in sealed:
            value = _sealed_value(column, text)
            changed[column] = seal(value)
            planted.secrets += [text, value.partition("_")[2] or value, changed[column]]
        elif isinstance(model._meta.get_field(column), models.JSONField):
            changed[column] = {"X-Shop": text}
            planted.for_changers.append(text)
        elif secrecy is Secrecy.SECRET:
            changed[column] = text
            planted.secrets.append(text)
        else:
            changed[column] = f"https://host.example/{text if secrecy is Secrecy.HOST else 'x'}?token={text}"
            # What was sent to an owner stands in no form.
            (planted.secrets if model is AlertMessage else planted.for_changers).append(text)
    if isinstance(row, BizType):
        changed["masked_fields"] = ["/card"]
    if hasattr(row, "request") and hasattr(row, "body"):
        text = marker("maskedfield")
        changed["body"] = json.dumps({"was": json.loads(row.body), "card": {"number": text}})
        planted.secrets.append(text)
        text, parameter = marker("ownheader"), marker("ownurl")
        own = OwnRequest(
            sealed={"Authorization": seal(text)}, origin="https://host.example",
            url=f"https://host.example/?token={parameter}",
        )  # fmt: skip
        changed["request"] = own.text()
        planted.secrets += [text, parameter, own.sealed["Authorization"]]
    if changed and not (model is ApiKey and row.name.startswith("caller")):
        model._base_manager.filter(pk=row.pk).update(**changed)


def columns_with(text: str) -> set[str]:
    """The columns of all tables in which the text stands."""
    models_of_app = apps.get_app_config("tasksapp").get_models(include_auto_created=True)
    rows = [(model, row) for model in models_of_app if model._meta.managed for row in model._base_manager.values()]
    return {f"{model.__name__}.{name}" for model, row in rows for name, value in row.items() if text in _read(value)}


def _read(value: Any) -> str:
    return bytes(value).decode(errors="replace") if isinstance(value, bytes | memoryview) else str(value)
