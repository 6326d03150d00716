"""Series in the admin: the list, the page of one with its rows, its form with a preview, and the verbs."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tasksapp import series as api
from tasksapp.admin.series.series_admin import SeriesAdmin
from tasksapp.delivery.own_request import read_own_request
from tasksapp.models import AuditEntry, BizType, Job, Operation, Series, Status, Tenant, TenantCount
from tasksapp.models.api_key import MOVING
from tests.page_words import words_of

pytestmark = pytest.mark.django_db

LIST = "/admin/tasksapp/series/"
TYPED = {
    "name": "morning", "cron": "0 9 * * 1-5", "time_zone": "Asia/Shanghai", "overlap": "skip", "catch_up": "latest",
    "body": '{"report": 1e2}',
}  # fmt: skip


def text_of(answer: Any) -> str:
    return words_of(answer.content)


@pytest.fixture
def biz_type() -> BizType:
    return BizType.objects.create(code="report.daily", url="https://shop.example/hooks")


@pytest.fixture
def morning(biz_type: BizType) -> Series:
    return api.create("report.daily", name="morning", cron="0 9 * * 1-5", time_zone="Asia/Shanghai", body={"a": 1})


def with_rights(*codenames: str) -> Client:
    user = User.objects.create_user("eve", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def test_what_is_typed_is_previewed_and_stored_as_it_was_written(person: Client, biz_type: BizType) -> None:
    typed = {**TYPED, "biz_type": biz_type.pk}

    shown = person.post(f"{LIST}add/", {**typed, "_preview": "1"})
    assert "At 09:00, Monday through Friday (Asia/Shanghai time)" in text_of(shown)
    assert shown.content.decode().count("<time ") == 10
    assert not Series.objects.exists()

    answer = person.post(f"{LIST}add/", typed, follow=True)
    row = Series.objects.get()
    assert (row.body, row.overlap) == ('{"report": 1e2}', "skip")
    page = text_of(answer)
    assert "The series is saved: At 09:00, Monday through Friday" in page
    assert "To come" in page
    assert AuditEntry.objects.get().verb == "series.add"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"cron": "61 * * * *"}, "cannot be read"),
        ({"every": "60"}, "give one of cron, every and times"),
        ({"body": "{"}, "This is not valid JSON"),
        ({"jitter": "86400"}, "jitter must be shorter"),
        ({"time_zone": "Mars"}, "Select a valid choice"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(
    person: Client, biz_type: BizType, typed: dict[str, str], message: str
) -> None:
    answer = person.post(f"{LIST}add/", {**TYPED, "biz_type": biz_type.pk, **typed})

    assert message in text_of(answer)
    assert not Series.objects.exists()


def test_the_page_shows_what_comes_and_what_became_of_it(person: Client, morning: Series) -> None:
    job_id = api.trigger(morning.pk)
    Job.objects.filter(id=job_id).update(status=Status.DEAD, error_class="http.503", attempts=3)

    with CaptureQueriesContext(connection) as asked:
        page = text_of(person.get(f"{LIST}{morning.pk}/change/"))

    assert "by hand" in page
    assert "HTTP 503" in page
    assert "made shortly before" in page
    assert '"a": 1' in page.replace("&quot;", '"')
    assert len(asked) <= 12


def test_the_list_says_when_each_runs_in_few_queries(person: Client, morning: Series) -> None:
    for number in range(5):
        api.create("report.daily", name=f"n{number}", every=3600)

    with CaptureQueriesContext(connection) as asked:
        page = text_of(person.get(LIST))

    assert page.count("Every hour") == 5
    assert "At 09:00, Monday through Friday (Asia/Shanghai time)" in page
    assert len(asked) <= 12


def test_the_list_and_the_page_say_that_the_tenant_gets_no_more_jobs(person: Client, morning: Series) -> None:
    Tenant.objects.update(most_pending_jobs=2)
    nothing = dict.fromkeys(("pending_bytes", "series", "biz_types", "api_keys"), 0)
    TenantCount.objects.create(
        tenant_id=morning.biz_type.tenant_id, pending_jobs=3, counted_at=morning.created_at, **nothing
    )
    said = "quota is used up: pending jobs, 3 of 2."

    for address in (LIST, f"{LIST}{morning.pk}/change/"):
        assert said in text_of(person.get(address))
    api.pause(morning.pk)
    assert said not in text_of(person.get(LIST))


def test_a_backfill_is_planned_and_leads_to_its_operation(person: Client, morning: Series) -> None:
    address = f"{LIST}{morning.pk}/backfill/"

    refused = text_of(person.post(address, {"since": "2126-01-01T00:00", "until": ""}))
    assert "since must be before now" in refused
    assert "They are made one by one" not in text_of(person.get(address))
    answer = person.post(address, {"since": "2026-01-01T00:00", "reason": "new report"}, follow=True)

    page, operation = text_of(answer), Operation.objects.get()
    assert (operation.verb, operation.reason, operation.started_by) == ("backfill", "new report", "admin")
    assert answer.redirect_chain[-1][0] == f"/admin/tasksapp/operation/{operation.pk}/change/"
    assert "Backfill a series of report.daily" in page
    assert "of the series “morning”" in page
    history = text_of(person.get("/admin/tasksapp/operation/"))
    assert "Backfill a series of report.daily" in history
    assert "of the series “morning”" in history
    assert with_rights("view_series").get(address).status_code == 403


def test_a_job_names_its_series_and_the_list_shows_those_of_one(person: Client, morning: Series) -> None:
    job = Job.objects.get()
    page = person.get(f"/admin/tasksapp/job/{job.pk}/change/").content.decode()
    listed = text_of(person.get(f"/admin/tasksapp/job/?tab=all&series={morning.pk}"))
    none = text_of(person.get(f"/admin/tasksapp/job/?tab=all&series={morning.pk + 1}"))

    assert f'<a href="{LIST}{morning.pk}/change/"><bdi>morning</bdi></a>' in page
    assert (str(job.pk)[:8] in listed, str(job.pk)[:8] in none) == (True, False)
    assert "series “morning”" in listed
    Series.objects.all().delete()
    assert f"series {morning.pk}" in text_of(person.get(f"/admin/tasksapp/job/?tab=all&series={morning.pk}"))
    assert "a series that was deleted" in text_of(person.get(f"/admin/tasksapp/job/{job.pk}/change/"))


def test_refusals_of_schedules_are_in_the_language_of_the_page(person: Client, biz_type: BizType) -> None:
    typed = {**TYPED, "biz_type": biz_type.pk, "cron": "61 * * * *"}

    answer = person.post(f"{LIST}add/", typed, headers={"accept-language": "zh-hans"})

    assert "无法解读 cron" in text_of(answer)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("every", "1e18"),
        ("jitter", "1e18"),
        ("anchor", "9999-12-31T23:59:59"),
        ("starts_at", "0001-01-01T00:00:00"),
        ("ends_at", "9999-12-31T23:59:59"),
        ("times", "9999-12-31T23:59:59Z"),
    ],
)
def test_a_value_beyond_the_calendar_is_refused_at_its_field(
    person: Client, biz_type: BizType, field: str, given: str
) -> None:
    schedule = {"cron": ""} if field in {"every", "times"} else {"cron": "", "every": "60"} if field == "anchor" else {}

    answer = person.post(f"{LIST}add/", {**TYPED, "biz_type": biz_type.pk, **schedule, field: given})

    assert answer.status_code == 200
    assert answer.context["form"].errors.keys() == {field}


def test_it_is_edited_paused_resumed_triggered_and_deleted(person: Client, morning: Series) -> None:
    of_one = f"{LIST}{morning.pk}/"
    typed = {**TYPED, "cron": "30 9 * * *", "version": "1"}

    assert person.post(f"{of_one}edit/", typed).status_code == 302
    assert "Somebody changed this series" in text_of(person.post(f"{of_one}edit/", {**typed, "cron": "0 8 * * *"}))
    assert person.post(f"{of_one}pause/", {"reason": "holidays"}).status_code == 302
    page = text_of(person.get(f"{of_one}change/"))
    assert "paused by admin" in page
    assert "holidays" in page
    assert person.post(f"{of_one}trigger/").status_code == 302
    assert person.post(f"{of_one}resume/").status_code == 302
    assert person.get(f"{of_one}trigger/").status_code == 405
    assert person.post(f"{of_one}delete/", {"post": "yes"}).status_code == 302
    assert not Series.objects.exists()
    assert [entry.verb.removeprefix("series.") for entry in AuditEntry.objects.order_by("id")] == [
        "edit", "pause", "trigger", "resume", "delete",
    ]  # fmt: skip


@pytest.mark.parametrize("verb", ["pause", "resume", "trigger", "delete"])
def test_what_is_refused_while_its_tenant_moves_is_said(person: Client, morning: Series, verb: str) -> None:
    BizType.objects.update(moved_to=MOVING)

    answer = person.post(f"{LIST}{morning.pk}/{verb}/", {"reason": "holidays", "post": "yes"}, follow=True)

    assert "is being moved to another site" in text_of(answer)
    assert not Series.objects.get().is_paused
    assert Job.objects.count() == 1


def test_one_that_no_key_opens_is_not_triggered_and_that_is_said(
    person: Client, morning: Series, settings: Any
) -> None:
    BizType.objects.update(encrypted=True)
    api.change(morning.pk, body={"card": 1})
    settings.DELAYHUB = {**settings.DELAYHUB, "ENCRYPTION_KEYS": [Fernet.generate_key().decode()]}

    answer = person.post(f"{LIST}{morning.pk}/trigger/", follow=True)

    assert "ENCRYPTION_KEYS" in text_of(answer)
    assert Job.objects.count() == 1


def test_one_that_somebody_deletes_meanwhile_is_gone(
    person: Client, morning: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    def just_deleted(*_: Any) -> Series:
        api.delete(morning.pk)
        return morning

    monkeypatch.setattr(SeriesAdmin, "_allowed", just_deleted)

    assert person.post(f"{LIST}{morning.pk}/resume/", follow=True).status_code == 404


def test_each_right_opens_what_it_is_for(morning: Series) -> None:
    viewer = with_rights("view_series")
    of_one = f"{LIST}{morning.pk}/"

    page = viewer.get(f"{of_one}change/").content.decode()

    assert "Trigger now" not in page
    assert "&quot;a&quot;" not in page
    assert viewer.get(f"{of_one}edit/").status_code == 403
    assert [viewer.post(f"{of_one}{verb}/").status_code for verb in ("pause", "resume", "trigger")] == [403] * 3
    assert viewer.post(f"{LIST}add/", TYPED).status_code == 403
    assert viewer.post(f"{of_one}delete/", {"post": "yes"}).status_code == 403
    assert viewer.get(f"{LIST}999/change/").status_code == 404


def test_the_groups_have_the_rights(morning: Series) -> None:
    rights = {
        name: set(
            Permission.objects.filter(group__name=f"DelayHub {name}", codename__endswith="_series").values_list(
                "codename", flat=True
            )
        )
        for name in ("viewer", "operator", "manager")
    }

    assert rights["viewer"] == {"view_series"}
    assert rights["operator"] == {"view_series", "pause_series"}
    assert rights["manager"] == {"view_series", "pause_series", "add_series", "change_series", "delete_series"}


def test_its_own_request_is_typed_shown_and_hidden_from_who_may_not_see_it(person: Client, biz_type: BizType) -> None:
    own = {"timeout_seconds": "3", "headers": '{"Authorization": "Bearer mine", "X-Region": "eu-7"}'}
    person.post(f"{LIST}add/", {**TYPED, **own, "biz_type": biz_type.pk})
    row = Series.objects.get()
    form = person.get(f"{LIST}{row.pk}/edit/").context["form"]

    page = text_of(person.get(f"{LIST}{row.pk}/change/"))
    masked = text_of(with_rights("view_series").get(f"{LIST}{row.pk}/change/"))
    again = {**TYPED, "timeout_seconds": "2", "headers": '{"Authorization": "(hidden)"}', "version": row.version}
    answer = person.post(f"{LIST}{row.pk}/edit/", again)
    wrong = person.post(f"{LIST}{row.pk}/edit/", {**again, "timeout_seconds": "99", "version": row.version + 1})

    assert (form["timeout_seconds"].value(), '"Authorization": "(hidden)"' in form["headers"].value()) == (3.0, True)
    assert ("eu-7" in page, "Bearer" in page, "eu-7" in masked) == (True, False, False)
    changed = read_own_request(Series.objects.get().request)
    assert (answer.status_code, changed.timeout_seconds, list(changed.sealed)) == (302, 2.0, ["Authorization"])
    assert "timeout_seconds may be 10" in text_of(wrong)


def test_a_flow_key_that_cannot_be_is_refused_in_the_persons_language(person: Client, biz_type: BizType) -> None:
    typed = {**TYPED, "biz_type": biz_type.pk, "flow_key": "a:b"}

    answer = text_of(person.post(f"{LIST}add/", typed, headers={"accept-language": "zh-hans"}))

    assert "100 字节" in answer or "100 个字节" in answer
    assert not Series.objects.exists()


def test_a_text_with_a_content_type_is_sent_as_it_is_typed(person: Client, biz_type: BizType) -> None:
    typed = {**TYPED, "body": "<a>\r\n</a>\r\n", "content_type": "application/xml"}
    person.post(f"{LIST}add/", {**typed, "biz_type": biz_type.pk})
    row = Series.objects.get()
    assert bytes(row.raw or b"") == b"<a>\n</a>\n"

    page = text_of(person.get(f"{LIST}{row.pk}/change/"))
    masked = text_of(with_rights("view_series").get(f"{LIST}{row.pk}/change/"))
    assert ("application/xml" in page, "&lt;a&gt;" in page) == (True, True)
    assert ("&lt;a&gt;" in masked, "hidden (9 bytes)" in masked) == (False, True)

    form = person.get(f"{LIST}{row.pk}/edit/").context["form"]
    assert (form["body"].value(), form["content_type"].value()) == ("<a>\n</a>\n", "application/xml")
    person.post(f"{LIST}{row.pk}/edit/", {**typed, "overlap": "start", "version": row.version})
    row.refresh_from_db()
    assert (bytes(row.raw or b""), row.overlap) == (b"<a>\n</a>\n", "start")

    person.post(f"{LIST}{row.pk}/edit/", {**typed, "body": "[1]", "content_type": "", "version": row.version})
    row.refresh_from_db()
    assert (row.raw, row.body) == (None, "[1]")


def test_bytes_that_are_no_text_stay_when_a_person_edits_the_series(person: Client, morning: Series) -> None:
    api.change(morning.pk, raw=b"\0\xff", content_type="image/png")

    page = text_of(person.get(f"{LIST}{morning.pk}/edit/"))
    answer = person.post(f"{LIST}{morning.pk}/edit/", {**TYPED, "body": "[1]", "version": morning.version + 1})

    morning.refresh_from_db()
    assert "It stays as it is." in page
    assert "00 ff" in text_of(person.get(f"{LIST}{morning.pk}/change/"))
    assert (answer.status_code, bytes(morning.raw or b""), morning.overlap) == (302, b"\0\xff", "skip")
