"""No page of the admin shows a secret or a body to a person who may not see it, and none changes rows for a viewer.

The pages are found in the URL conf, so a new one is among them; where it takes an argument that is not known here, the
test says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any, NamedTuple

import pytest
from celery import Celery
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver

from tasksapp.access.keys import issue_key
from tasksapp.models import Alert, AlertSilence, ApiKey, AuditEntry, BizType, Job, Operation, PausedKey, Series, Tenant
from tests.admin_scene import Scene, store_scene
from tests.planted_secrets import Planted, found_in, plant_broker, plant_options, plant_rows

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(300)]

#: What stands in bodies and answers of the scene.
BODIES = ("xm@example.com", "90071992547409931", "upstream connect error")
#: How pages are asked for what they show beside their first face: as JSON, in parts, with all they could look at.
VARIANT = "?format=json&fragment=1&check=1&tab=all"
#: Of Django's pages, those that every person of the staff may ask for.
OPEN = {"index", "login", "logout", "password_change", "password_change_done", "jsi18n", "autocomplete"}
GROUPS = ("manager", "operator", "viewer")
ROLES = ("superuser", *GROUPS, "nobody")


class Page(NamedTuple):
    """A page of the admin: its name in the URL conf, and an address that leads to it."""

    name: str
    address: str


@pytest.fixture
def scene(settings: Any) -> Scene:
    """The rows, in a project whose Redis is away, which must break no page."""
    settings.DELAYHUB = {"REDIS_URL": "redis://127.0.0.1:1/0"}
    return store_scene()


def browser(role: str) -> Client:
    """The browser of a person of the staff in that role."""
    user = User.objects.create_user(role, is_staff=True, is_superuser=role == "superuser")
    if role in GROUPS:
        user.groups.add(Group.objects.get(name=f"DelayHub {role}"))
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def pages(scene: Scene) -> list[Page]:
    """Every page of the admin site, with each of its arguments taken from the scene."""
    made = list(_pages(admin.site.get_urls(), "/admin/", scene))
    assert len(made) > 30
    return made


def _pages(patterns: list[Any], prefix: str, scene: Scene) -> Iterator[Page]:
    for pattern in patterns:
        route = str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _pages(pattern.url_patterns, prefix + route, scene)
        elif pattern.name == "app_list":
            yield Page("app_list", f"{prefix}tasksapp/")
        elif isinstance(pattern, URLPattern) and pattern.name:
            values = {name: str(_argument(name, prefix + route, scene)) for name in pattern.pattern.converters}
            yield Page(pattern.name, prefix + _ARGUMENT.sub(partial(_value, values), route))


def _value(values: dict[str, str], match: re.Match[str]) -> str:
    return values[match["name"]]


_ARGUMENT = re.compile(r"<(?:\w+:)?(?P<name>\w+)>")


def _argument(name: str, route: str, scene: Scene) -> Any:
    """What stands for an argument in an address."""
    words = {
        "job_id": scene.dead.pk, "biz_type_id": scene.closing.pk, "code": scene.closing.code, "content_type_id": 1,
        "verb": "redrive", "error_class": "http.503", "operation_id": scene.planned_operation.pk,
        "queue": "delayhub.tasks", "lane": "delayhub.tasks", "series_id": scene.series.pk, "link_id": 1,
    }  # fmt: skip
    if name in words:
        return words[name]
    rows: dict[str, Any] = {
        "/job/": scene.dead, "/biztype/": scene.closing, "/operation/": scene.planned_operation, "/r/": scene.dead,
        "/apikey/": ApiKey.objects.first(), "/auditentry/": AuditEntry.objects.first(), "/user/": User.objects.first(),
        "/alert/silence/": AlertSilence.objects.first(), "/alert/": Alert.objects.first(),
        "/group/": Group.objects.first(), "/tenant/": Tenant.objects.first(), "/series/": scene.series,
    }  # fmt: skip
    for part, row in rows.items():
        if part in route and name in {"object_id", "id", "pk", "key_id"}:
            return 1 if row is None else row.pk
    raise AssertionError(f"this test does not know what to put for {name!r} in {route}: say it here")


@pytest.mark.parametrize("role", ROLES)
def test_no_page_shows_what_its_reader_may_not_see(
    scene: Scene, role: str, settings: Any, current_celery: Celery, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    issue_key("checkout")
    planted = Planted()
    plant_options(settings, planted)
    plant_broker(current_celery, planted)
    plant_rows(planted)
    client = browser(role)
    hidden = planted.secrets + ([] if role in {"superuser", "manager"} else planted.for_changers)
    hidden += BODIES if role in {"viewer", "nobody"} else []
    wrong: list[str] = []

    # What the others see of the variants is a part of what one of these two does.
    for page, variant in product(pages(scene), ["", VARIANT] if role in {"superuser", "operator"} else [""]):
        if page.name == "logout":
            continue
        answer = client.get(page.address + variant)
        text = answer.content.decode(errors="replace")
        wrong += [f"{page.name}{variant} shows {secret}" for secret in found_in(text, hidden)]
        if answer.status_code >= 500:
            wrong.append(f"{page.name} answers {answer.status_code} at {page.address}")
        if role == "nobody" and answer.status_code == 200 and page.name not in OPEN:
            wrong.append(f"{page.name} is shown to a person without any permission")

    assert wrong == []
    assert found_in(caplog.text, planted.secrets + planted.for_changers) == []


@pytest.mark.parametrize("role", ["viewer", "nobody"])
def test_a_person_who_may_only_look_changes_nothing(scene: Scene, role: str) -> None:
    issue_key("checkout")
    client = browser(role)
    before = stored()
    wrong: list[str] = []

    for page in pages(scene):
        if page.name in OPEN:
            continue
        answer = client.post(page.address, POSTED)
        if answer.status_code >= 500:
            wrong.append(f"a POST to {page.name} answers {answer.status_code} at {page.address}")
        if stored() != before:
            wrong.append(f"a POST to {page.name} changed rows")
            before = stored()

    assert wrong == []


#: What forms of all kinds might take for a yes.
POSTED = {
    "post": "yes",
    "confirmed": "yes",
    "reason": "x",
    "name": "x",
    "code": "x",
    "until": "2099-01-01",
    "verb": "drop",
}


def stored() -> dict[str, Any]:
    """All rows that a person could change."""
    found = {}
    with connection.cursor() as cursor:  # after each of a hundred requests: as models they would cost more than those
        for kind in (Job, BizType, Series, PausedKey, Alert, Tenant, ApiKey, Operation, AuditEntry, User, Group):
            cursor.execute(f"SELECT * FROM {kind._meta.db_table} ORDER BY {kind._meta.pk.column}")
            found[kind.__name__] = cursor.fetchall()
    return found


def test_the_three_groups_have_permissions_of_this_app_only() -> None:
    known = {
        codename
        for model in apps.get_app_config("tasksapp").get_models(include_auto_created=True)
        for codename, _ in [
            *((f"{action}_{model._meta.model_name}", "") for action in model._meta.default_permissions),
            *model._meta.permissions,
        ]
    }

    for codenames in import_module("tasksapp.migrations.0002_rows").GROUPS.values():
        assert set(codenames) <= known
