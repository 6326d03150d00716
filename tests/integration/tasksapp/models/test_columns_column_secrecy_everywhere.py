"""What is planted in every secret option and column is seen nowhere; pages of the admin have a test of their own.

Looked at: each answer of the API for each scope, the OpenAPI document, metrics, spans, the log, ``manage.py check``,
the ``delayhub`` command, and the pages of errors.
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.test import Client, RequestFactory
from django.views.debug import technical_500_response

import delayhub.project.settings as project
from delayhub.cli.main import main
from tasksapp.access.callers import last_uses
from tasksapp.access.keys import issue_key
from tasksapp.api.openapi.document import openapi_document
from tasksapp.metrics.views import site_collector
from tasksapp.models import ApiKey, Attempt
from tasksapp.models.api_key import Scope
from tasksapp.models.tenant import DEFAULT_TENANT
from tests.fixture_types import Fire, MakeBizType
from tests.integration.tasksapp.api.access_table import TABLE, Place, store_place
from tests.planted_secrets import Planted, found_in, marker, plant_broker, plant_options, plant_rows, secret_options
from tests.tracing import tracing_on

pytestmark = pytest.mark.django_db


def fail(*_: object, **__: object) -> None:
    """What a page does that has a fault."""
    raise RuntimeError("a fault")


@pytest.fixture
def planted(settings: Any, current_celery: Celery, caplog: pytest.LogCaptureFixture) -> Planted:
    """Markers in the options and the broker; of the log everything is kept that an operator would see, and more."""
    caplog.set_level("DEBUG", logger="tasksapp")
    caplog.set_level("DEBUG", logger="delayhub")
    found = Planted()
    plant_options(settings, found)
    plant_broker(current_celery, found)
    return found


def asked(client: Client, method: str, template: str, place: Place, key: str) -> str:
    """What the API answers, with its headers."""
    entry = TABLE[method, template]
    body = json.dumps(entry.body(place)) if entry.body is not None else ""
    answer = client.generic(
        method,
        f"/api{entry.path(template, place)}",
        data=body,
        content_type="application/json",
        headers={"authorization": f"Bearer {key}", **entry.headers},
    )
    return f"{answer.headers} {answer.getvalue().decode()}"


def test_no_answer_of_the_api_holds_a_secret_for_any_scope(
    client: Client, planted: Planted, caplog: pytest.LogCaptureFixture
) -> None:
    place = store_place("mine.one", tenant_id=DEFAULT_TENANT, name="mine")
    plant_rows(planted)
    key = issue_key("caller").key
    wrong: list[str] = []

    with tracing_on() as traces:
        # Those that only read come first: the others change what is planted.
        for method, template in sorted(TABLE, key=lambda operation: operation[0] != "GET"):
            for scopes in ([TABLE[method, template].scope], [one for one in Scope if one != Scope.BIZ_TYPES_WRITE]):
                ApiKey.objects.filter(name="caller").update(scopes=scopes)
                last_uses.forget()
                by_changer = Scope.BIZ_TYPES_WRITE in scopes
                seen = planted.seen_in(asked(client, method, template, place, key), by_changer=by_changer)
                wrong += [f"{method} {template} as {scopes} shows {one}" for one in seen]
        spans = "".join(span.to_json() for span in traces.all())

    assert wrong == []
    assert planted.seen_in(spans) == []
    assert planted.seen_in(caplog.text) == []
    assert planted.seen_in(json.dumps(openapi_document(prefix="/api"), default=str)) == []


def test_no_metric_holds_a_secret(client: Client, planted: Planted, settings: Any) -> None:
    store_place("mine.one", tenant_id=DEFAULT_TENANT, name="mine")
    plant_rows(planted)
    site_collector.forget()
    [token] = settings.DELAYHUB["METRICS_TOKENS"]

    answer = client.get("/metrics", headers={"Authorization": f"Bearer {token}"})

    assert answer.status_code == 200
    assert b"delayhub_jobs{" in answer.content
    assert planted.seen_in(answer.content.decode()) == []


@pytest.mark.django_db(transaction=True)
def test_no_span_no_line_of_the_log_and_no_record_of_an_attempt_holds_a_secret(
    make_biz_type: MakeBizType, fire: Fire, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    place, planted = store_place("mine.one", tenant_id=DEFAULT_TENANT, name="mine"), Planted()
    redis_url = settings.DELAYHUB["REDIS_URL"]
    plant_options(settings, planted)
    settings.DELAYHUB["REDIS_URL"] = redis_url
    plant_rows(planted)
    type(place.pending).objects.filter(pk=place.pending.pk).update(request="")
    type(place.biz_type).objects.filter(pk=place.biz_type.pk).update(auth="bearer")
    client = Client()
    key = issue_key("caller", scopes=list(Scope)).key
    caplog.set_level("DEBUG")

    with tracing_on() as traces:
        asked(client, "POST", "/v1/jobs/{id}/run", place, key)
        fire()
        spans = "".join(span.to_json() for span in traces.all())
        named = [span.name for span in traces.all()]
    attempt = Attempt.objects.filter(job=place.pending).get()

    assert "deliver mine.one" in named
    assert "X-Shop" in str(attempt.request_headers)
    assert planted.seen_in(str(vars(attempt))) == []
    address = f"/api/v1/jobs/{place.pending.pk}/attempts"
    answer = client.get(address, headers={"authorization": f"Bearer {key}"})
    assert answer.json()["results"][0]["request_headers"]["X-Shop"] == "(hidden)"
    assert planted.seen_in(answer.content.decode()) == []
    assert planted.seen_in(spans) == []
    assert planted.seen_in(caplog.text) == []


def test_the_system_check_repeats_no_secret(planted: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    told = io.StringIO()
    try:
        call_command("check", deploy=True, stdout=told, stderr=told)
    except SystemCheckError as error:
        told.write(str(error))

    captured = capsys.readouterr()
    assert planted.seen_in(told.getvalue() + captured.out + captured.err) == []


@pytest.mark.parametrize("name", secret_options())
@pytest.mark.parametrize("wrong", [str.encode, lambda text: {text: text}, lambda text: [[text]], lambda text: text])
def test_a_secret_of_a_wrong_type_is_not_repeated(settings: Any, name: str, wrong: Any) -> None:
    text = marker(name)
    settings.DELAYHUB = {**settings.DELAYHUB, name.upper(): wrong(text)}

    told = io.StringIO()
    try:
        call_command("check", stdout=told, stderr=told)
    except SystemCheckError as error:
        told.write(str(error))

    assert text not in told.getvalue()


@pytest.mark.parametrize("sign", ["/", "#", "?", "@", ":", "%", "[", " "])
def test_a_password_that_is_not_percent_encoded_is_not_repeated_in_part(
    settings: Any, current_celery: Celery, sign: str
) -> None:
    begin, end = marker("begin"), marker("end")
    url = f"delayhub://user:{begin}{sign}{end}@127.0.0.1:1/0"
    current_celery.conf.broker_url = url
    settings.DELAYHUB = {**settings.DELAYHUB, "OWNER_URL": url.replace("delayhub", "https")}

    told = io.StringIO()
    try:
        call_command("check", stdout=told, stderr=told)
    except SystemCheckError as error:
        told.write(str(error))

    assert found_in(told.getvalue(), [begin, end]) == []


def test_the_command_line_repeats_no_key(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = marker("apikey")
    monkeypatch.setenv("DELAYHUB_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("DELAYHUB_API_KEY", key)
    monkeypatch.setenv("DELAYHUB_URL", "http://127.0.0.1:1")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{key}\n"))

    codes = [
        main(["profiles", "add", "work", "--url", "http://127.0.0.1:1", "--no-check"]),
        main(["profiles", "list"]),
        main(["profiles", "list", "--json"]),
        main(["--profile", "work", "jobs", "list"]),
        main(["jobs", "list"]),
    ]

    captured = capsys.readouterr()
    assert codes[-1] != 0
    assert key not in captured.out + captured.err


def test_the_page_of_an_error_shows_no_secret_in_debug_mode_either(settings: Any, planted: Planted) -> None:
    settings.DEBUG = True
    settings.DEFAULT_EXCEPTION_REPORTER_FILTER = project.DEFAULT_EXCEPTION_REPORTER_FILTER
    names = re.findall(r'env\.\w+\(\s*"(\w+)"', Path(project.__file__).read_text())
    environment = {f"DELAYHUB_{name}": marker(name) for name in names}
    request = RequestFactory().get("/", **environment)
    try:
        fail()
    except RuntimeError as error:
        # Without the frame of this test, whose variables are what was planted.
        inner = getattr(error.__traceback__, "tb_next", None)
        page = technical_500_response(request, type(error), error, inner).content.decode()

    assert len(names) > 40
    assert "a fault" in page
    assert "LEASE_SECONDS" in page
    assert found_in(page, [*planted.secrets, *environment.values()]) == []


def test_the_page_of_a_fault_in_production_shows_no_secret(
    admin_client: Client, planted: Planted, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    admin_client.raise_request_exception = False

    monkeypatch.setattr("tasksapp.admin.system_admin.system_report", fail)

    answer = admin_client.get("/admin/tasksapp/system/")

    assert answer.status_code == 500
    assert planted.seen_in(answer.content.decode() + caplog.text) == []
