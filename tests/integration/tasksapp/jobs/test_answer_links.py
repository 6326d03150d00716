"""A person answers a job that waits by a link: once, in time, and it is known to whom the link was given."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import set_script_prefix
from django.utils import timezone

from delayhub.clock import SystemClock
from tasksapp import jobs, series
from tasksapp.access.actors import Actor
from tasksapp.errors import InvalidJob, JobNotFound, LinkNotFound, LinkOver, WrongState
from tasksapp.jobs import answer_links, completion
from tasksapp.jobs.answer_links import MOST_LINKS, MadeLink, answer_by_link, look_at_link
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer, Completion
from tasksapp.maintenance.resealer import Resealer
from tasksapp.models import AnswerLink, AuditEntry, BizType, Job, Status, Tombstone
from tasksapp.models.sealable import stored
from tasksapp.sql.purge_rows import purge_jobs
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.transfer.departure import Departure
from tests.fixture_types import MakeBizType
from tests.integration.tasksapp.at_once import at_once
from tests.integration.tasksapp.stored_jobs import due
from tests.outcomes import tried

pytestmark = pytest.mark.django_db(transaction=True)

SITE = "https://delayhub.example"
HOUR = timedelta(hours=1)
ADA = Actor("ada")


@pytest.fixture(autouse=True)
def ask(make_biz_type: MakeBizType, settings: Any) -> BizType:
    """A biz type whose jobs wait for an answer, on a site that knows its address."""
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": f"{SITE}/"}
    for code in ("after.answer", "after.success"):
        make_biz_type(code)
    return make_biz_type("ask", on_resolved="after.answer", on_success="after.success", max_attempts=1)


def asked(**fields: Any) -> UUID:
    return due("ask", **{"biz_id": "42", "delay": HOUR, **fields})


def link(job_id: UUID, **fields: Any) -> MadeLink:
    return jobs.make_link(job_id, **{"outcomes": ["approved", "rejected"], "given_to": "eve@shop.example", **fields})


def token_of(made: MadeLink) -> str:
    return made.url.partition("#")[2]


def over(token: str, outcome: str = "approved") -> str:
    """Why nothing is answered by the link."""
    with pytest.raises(LinkOver) as refused:
        answer_by_link(token, outcome)
    return refused.value.why


def followed() -> list[tuple[str, dict[str, Any]]]:
    rows = Job.objects.filter(biz_type__code__startswith="after.").order_by("id")
    return [(code, json.loads(body)["follows"]) for code, body in rows.values_list("biz_type__code", "body")]


def test_a_link_answers_its_job_once_and_says_to_whom_it_was_given(ask: BizType) -> None:
    job_id = asked()

    made = link(job_id, question="May expense 42 be paid?", by=ADA)
    shown, job = look_at_link(token_of(made))
    answer_by_link(token_of(made), "approved", address="192.0.2.7", agent="Phone/1.0")

    assert (shown.question, shown.outcomes, job.id) == ("May expense 42 be paid?", ["approved", "rejected"], job_id)
    assert (Job.objects.get(id=job_id).status, Job.objects.get(id=job_id).last_error) == ("cancelled", "resolved")
    ((code, follows),) = followed()
    assert (code, follows["answer"]["outcome"]) == ("after.answer", "approved")
    assert follows["answer"]["by"] == "the link given to eve@shop.example"
    assert over(token_of(made), "rejected") == "used"
    entries = AuditEntry.objects.order_by("id").values_list("verb", "actor", "address", "reason")
    by_link = ("the link given to eve@shop.example", "192.0.2.7", "Phone/1.0")
    assert list(entries) == [("link", "ada", None, ""), ("resolve", *by_link), ("resolve", *by_link)]
    assert AuditEntry.objects.order_by("id")[0].after["given_to"] == "eve@shop.example"


def test_the_database_has_no_token_and_logs_show_none(ask: BizType) -> None:
    made = link(asked())

    row = AnswerLink.objects.values().get()
    assert token_of(made) not in f"{row} {made!r} {AuditEntry.objects.values().first()}"
    assert made.url == f"{SITE}/api/answer#{token_of(made)}"
    assert len(token_of(made)) >= 32
    assert row["used_at"] is None


def test_a_look_changes_nothing(ask: BizType) -> None:
    made = link(asked())
    before = AnswerLink.objects.values().get()

    with CaptureQueriesContext(connection) as asked_for:
        look_at_link(token_of(made))

    assert [query["sql"][:6] for query in asked_for] == ["SELECT", "SELECT"]
    assert AnswerLink.objects.values().get() == before


def test_of_two_links_one_answers_and_the_other_is_told_that_it_is_too_late(ask: BizType) -> None:
    job_id = asked()
    first, second = link(job_id), link(job_id, given_to="bob")

    answer_by_link(token_of(first), "rejected")

    assert over(token_of(second)) == "late"
    assert [follows["answer"]["outcome"] for _, follows in followed()] == ["rejected"]


@pytest.mark.parametrize("links", [1, 2])
def test_of_two_clicks_at_the_same_moment_one_counts_and_the_other_is_told(ask: BizType, links: int) -> None:
    for number in range(10):
        job_id = asked(biz_id=str(number))
        tokens = [token_of(link(job_id)) for _ in range(links)] * (2 // links)

        def click(token: str, outcome: str) -> str:
            try:
                answer_by_link(token, outcome)
            except LinkOver as refused:
                return refused.why
            return "counts"

        said = at_once(lambda: click(tokens[0], "approved"), lambda: click(tokens[1], "rejected"))  # noqa: B023  at once

        assert sorted(said) in ([["counts", "used"]] if links == 1 else [["counts", "late"], ["counts", "used"]])
        assert len(followed()) == number + 1


def test_who_looks_while_another_answers_is_told_that_it_was_used(ask: BizType) -> None:
    made = link(asked())
    clicks = ["approved"]

    def click_between(execute: Any, sql: str, *rest: Any) -> Any:
        if "delayhub_job" in sql and clicks:
            answer_by_link(token_of(made), clicks.pop())
        return execute(sql, *rest)

    with connection.execute_wrapper(click_between):
        assert over(token_of(made), "rejected") == "used"


def test_a_link_ends_when_its_job_is_due_or_earlier(ask: BizType) -> None:
    job_id = asked()
    due_at = Job.objects.get(id=job_id).due_at

    made, short = link(job_id, expires_at=due_at + HOUR), link(job_id, expires_at=due_at - HOUR / 2)

    assert (made.link.expires_at, short.link.expires_at) == (due_at, due_at - HOUR / 2)
    AnswerLink.objects.filter(pk=short.link.pk).update(expires_at=timezone.now())
    assert over(token_of(short)) == "late"
    Job.objects.filter(id=job_id).update(due_at=timezone.now() - HOUR)  # also where it waits for a retry, or is paused
    assert over(token_of(made)) == "late"
    assert followed() == []


@pytest.mark.parametrize("status", [Status.RUNNING, Status.SUCCEEDED, Status.DEAD, Status.CANCELLED])
def test_nobody_answers_what_waits_no_more(ask: BizType, status: Status) -> None:
    job_id = asked()
    made = link(job_id)
    Job.objects.filter(id=job_id).update(status=status)

    assert over(token_of(made)) == "late"
    with pytest.raises(WrongState, match=f"cannot answer job {job_id}: it is {status}"):
        link(job_id)


def test_nobody_answers_what_was_run_before_it_was_due_also_where_it_is_tried_again(ask: BizType) -> None:
    BizType.objects.filter(pk=ask.pk).update(max_attempts=2)
    job_id = asked()
    made = link(job_id)
    jobs.run_now(job_id)

    assert over(token_of(made)) == "late"
    with pytest.raises(InvalidJob, match="too late"):
        link(job_id)
    for again_at in (timezone.now() + HOUR / 2, timezone.now() + 2 * HOUR):
        Job.objects.filter(id=job_id).update(attempts=1, next_run_at=again_at)
        assert over(token_of(made)) == "late"
    jobs.reschedule(job_id, delay=HOUR)
    answer_by_link(token_of(link(job_id)), "approved")


def test_nobody_answers_where_nobody_hears_of_answers_any_more(ask: BizType) -> None:
    made = link(asked())
    BizType.objects.filter(pk=ask.pk).update(on_resolved="")

    assert over(token_of(made)) == "late"


def test_an_answer_that_meets_the_beginning_of_the_attempt_counts_only_if_that_fails(
    ask: BizType, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = asked()
    made = link(job_id)
    held = Claimer(clock=RedisClock(client), worker="w", using="default")
    begun: list[Any] = []

    def begin() -> None:
        Job.objects.filter(id=job_id).update(due_at=timezone.now() - HOUR, next_run_at=timezone.now() - HOUR)
        Tombstone.objects.update(until=timezone.now() - HOUR)  # the claim's statement began before it was there
        begun.extend(held.running_jobs(held.claim_due([job_id], now_ms=0)))
        Tombstone.objects.update(until=timezone.now() + HOUR)

    def begin_and_resolve(*what: Any, **fields: Any) -> Any:
        transaction.on_commit(begin)
        return jobs.resolve(*what, **fields)

    monkeypatch.setattr(answer_links, "resolve", begin_and_resolve)
    assert over(token_of(made)) == "begun"
    assert followed() == []
    ended = completion.failed(begun[0], tried=tried(), error_class="http.503", now=timezone.now())
    Completer(clock=SystemClock(), worker="w", using="default").complete([Completion(begun[0], ended)])

    assert [(code, follows["answer"]["outcome"]) for code, follows in followed()] == [("after.answer", "approved")]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"outcomes": []}, "1 to 10 different words"),
        ({"outcomes": "approved"}, "1 to 10 different words"),
        ({"outcomes": ["approved", "approved"]}, "1 to 10 different words"),
        ({"outcomes": [str(number) for number in range(11)]}, "1 to 10 different words"),
        ({"outcomes": ["a" * 101]}, "outcome"),
        ({"given_to": ""}, "given_to may not be empty"),
        ({"given_to": None}, "given_to may not be empty"),
        ({"question": "a" * 501}, "question"),
        ({"question": "@1 o'clock?"}, "may not begin with @1"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at may not be past"),
    ],
)
def test_what_cannot_be_is_refused(ask: BizType, fields: dict[str, Any], complaint: str) -> None:
    job_id = asked()

    with pytest.raises(InvalidJob, match=complaint):
        link(job_id, **fields)
    assert not AnswerLink.objects.exists()


def test_only_what_waits_for_an_answer_has_links_and_no_more_than_so_many(
    ask: BizType, make_biz_type: MakeBizType, settings: Any
) -> None:
    make_biz_type("order.close")
    job_id = asked()
    for job in (due("order.close", biz_id="42", delay=HOUR), asked(biz_id="")):
        with pytest.raises(InvalidJob, match="waits for no answer"):
            link(job)
    with pytest.raises(JobNotFound):
        link(UUID(int=1))
    for _ in range(MOST_LINKS):
        link(job_id)
    with pytest.raises(InvalidJob, match="withdraw some"):
        link(job_id)
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": None}
    with pytest.raises(InvalidJob, match="SITE_URL"):
        link(asked(biz_id="43"))


def test_a_site_without_the_page_makes_no_links(ask: BizType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_links, "PAGE", "elsewhere:answer")

    with pytest.raises(InvalidJob, match="URL conf"):
        link(asked())


@pytest.mark.parametrize(
    ("site", "below"),
    [("https://a.example/hub/", "/"), ("https://a.example/hub", "/hub/"), ("https://a.example", "/hub/")],
)
def test_a_site_below_a_path_has_that_once_in_its_addresses(ask: BizType, settings: Any, site: str, below: str) -> None:
    settings.DELAYHUB = {**settings.DELAYHUB, "SITE_URL": site}
    set_script_prefix(below)
    try:
        made = link(asked())
    finally:
        set_script_prefix("/")

    assert made.url.partition("#")[0] == "https://a.example/hub/api/answer"


def test_only_what_the_link_allows_is_answered(ask: BizType) -> None:
    made = link(asked(), outcomes=["approved"])

    for wrong in ("rejected", "", None, ["approved"], 1):
        with pytest.raises(InvalidJob, match="one of approved"):
            answer_by_link(token_of(made), wrong)
    for unknown in ("x" * 32, "", None, 7, "é\ud800"):
        with pytest.raises(LinkNotFound):
            look_at_link(unknown)
    answer_by_link(token_of(made), "approved")


def test_a_link_is_withdrawn_until_it_is_used(ask: BizType) -> None:
    job_id, other = asked(), asked(biz_id="43")
    kept, withdrawn = link(job_id), link(job_id, given_to="bob")
    with pytest.raises(LinkNotFound):
        jobs.withdraw_link(other, withdrawn.link.pk)

    jobs.withdraw_link(job_id, withdrawn.link.pk, by=ADA)

    assert [row.given_to for row in jobs.links_of(job_id)] == ["eve@shop.example"]
    with pytest.raises(LinkNotFound):
        answer_by_link(token_of(withdrawn), "approved")
    answer_by_link(token_of(kept), "approved")
    with pytest.raises(LinkNotFound, match="not used"):
        jobs.withdraw_link(job_id, kept.link.pk)
    assert AuditEntry.objects.filter(verb="withdraw_link", actor="ada", job_id=job_id).count() == 1


def test_the_question_of_an_encrypted_biz_type_is_encrypted(ask: BizType) -> None:
    plain = link(asked(biz_id="43"), question="May it be paid?")
    BizType.objects.filter(pk=ask.pk).update(encrypted=True)

    made = link(asked(), question="May expense 42 be paid?")

    row = AnswerLink.objects.get(pk=made.link.pk)
    assert "expense" not in stored(row, "question")
    assert look_at_link(token_of(made))[0].question == "May expense 42 be paid?"
    resealer = Resealer(using="default")
    resealer.run_biz_types()
    assert resealer.done.answers == 1
    assert "paid" not in stored(AnswerLink.objects.get(pk=plain.link.pk), "question")
    assert look_at_link(token_of(plain))[0].question == "May it be paid?"


def test_the_question_about_a_job_that_is_still_encrypted_is_encrypted(ask: BizType) -> None:
    BizType.objects.filter(pk=ask.pk).update(encrypted=True)
    job_id = asked()
    BizType.objects.filter(pk=ask.pk).update(encrypted=False)

    link(job_id, question="May expense 42 be paid?")

    assert "expense" not in stored(AnswerLink.objects.get(), "question")


def test_links_go_with_their_jobs(ask: BizType) -> None:
    purged, kept = link(asked()), link(asked(biz_id="43"))
    answer_by_link(token_of(purged), "approved")
    assert AnswerLink.objects.count() == 2

    purge_jobs(ask.pk, before=timezone.now() + HOUR, using="default")

    assert AnswerLink.objects.get().pk == kept.link.pk
    with pytest.raises(LinkNotFound):
        look_at_link(token_of(purged))


def test_links_go_with_a_series_job_that_is_unmade(ask: BizType) -> None:
    row = series.create("ask", name="nightly", times=[timezone.now() + HOUR / 2], biz_id="42")
    made, kept = link(Job.objects.get().id), link(asked(biz_id="43"))

    series.pause(row.pk)

    assert AnswerLink.objects.get().pk == kept.link.pk
    with pytest.raises(LinkNotFound):
        look_at_link(token_of(made))


def test_links_stay_behind_where_their_tenant_moves_and_end(ask: BizType) -> None:
    made = link(asked())
    departure = Departure(ask.tenant, by=ADA, using="default")
    departure.close()

    departure.leave(digest=None, moved_to="https://c2.example")

    with pytest.raises(LinkNotFound):
        answer_by_link(token_of(made), "approved")


def test_jobs_that_nobody_waits_for_pay_nothing(make_biz_type: MakeBizType) -> None:
    make_biz_type("order.close")
    with CaptureQueriesContext(connection) as asked_for:
        job_id = due("order.close", biz_id="42", delay=HOUR)
        jobs.resolve("order.close", "42")

    assert Job.objects.get(id=job_id).status == Status.CANCELLED
    assert not [query for query in asked_for if "answer_link" in query["sql"]]
