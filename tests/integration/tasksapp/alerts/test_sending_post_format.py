"""Chats and pagers get alerts in their own form, each once, and hear when one is taken or over."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasksapp.access.actors import Actor
from tasksapp.alerts import outbox
from tasksapp.alerts.book import Event, What
from tasksapp.alerts.composer import Channel, Recipient, compose
from tasksapp.alerts.taking import take
from tasksapp.models import Alert, AlertKind, AlertMessage, AuditEntry, BizType
from tests.integration.tasksapp.receiver import Receiver, answering

pytestmark = pytest.mark.django_db

HOST = "https://delayhub.example"


def is_told_by(form: str, receiver: Receiver, settings: Any, *, key: str = "") -> None:
    settings.DELAYHUB |= {"OWNER_URL": f"{form}+http://{key}127.0.0.1:{receiver.port}/in", "SITE_URL": HOST}


def open_alert(biz_type: BizType, kind: AlertKind = AlertKind.DEAD, **facts: Any) -> Alert:
    now = timezone.now()
    told = {"biz_type": biz_type.label, "died": 3, "dead": 3, **facts}
    return Alert.objects.create(
        kind=kind, biz_type_id=biz_type.pk, began_at=now, told_at=now, facts=told, sentence="it dies"
    )


def tell(*alerts: Alert, what: What = What.BEGAN) -> None:
    now = timezone.now()
    known = BizType.objects.in_bulk([alert.biz_type_id for alert in alerts])
    outbox.put(compose([Event(what, alert) for alert in alerts], known, now=now), now=now, using="default")
    outbox.send_due(using="default")


def bodies_of(receiver: Receiver) -> list[dict[str, Any]]:
    return [json.loads(post.body) for post in receiver.received]


def test_slack_gets_a_text_in_which_no_name_means_anything(
    receiver: Receiver, settings: Any, biz_type: BizType
) -> None:
    is_told_by("slack", receiver, settings)

    tell(open_alert(biz_type, AlertKind.BREAKER_OPEN, host="<!channel>&co"))

    (body,) = bodies_of(receiver)
    assert set(body) == {"text"}
    assert body["text"].startswith("*[DelayHub] order.close: its receiver &lt;!channel&gt;&amp;co is down.")
    assert f"{HOST}/admin/tasksapp/alert/" in body["text"]
    assert body["text"].count("is down") == 1, "the subject says it"


def test_one_dead_job_is_told_of_as_one(receiver: Receiver, settings: Any, biz_type: BizType) -> None:
    is_told_by("slack", receiver, settings)

    tell(open_alert(biz_type, died=1, dead=1))

    assert "order.close: jobs die, 1 lately. 1 dead job waits for a person." in bodies_of(receiver)[0]["text"]


def test_teams_gets_a_card(receiver: Receiver, settings: Any, biz_type: BizType) -> None:
    is_told_by("teams", receiver, settings)

    tell(open_alert(biz_type))

    (body,) = bodies_of(receiver)
    (attachment,) = body["attachments"]
    assert (body["type"], attachment["contentType"]) == ("message", "application/vnd.microsoft.card.adaptive")
    assert [block["type"] for block in attachment["content"]["body"]] == ["TextBlock", "TextBlock"]
    subject, text = (block["text"] for block in attachment["content"]["body"])
    assert "order.close: jobs die, 3 lately" in subject
    assert text.startswith("since ")


def test_pagerduty_gets_one_event_for_each_alert_and_one_key_from_its_begin_to_its_end(
    receiver: Receiver, settings: Any, biz_type: BizType
) -> None:
    is_told_by("pagerduty", receiver, settings, key="the-key@")
    dying, away = open_alert(biz_type), Alert.objects.create(kind=AlertKind.REDIS_AWAY, began_at=timezone.now())

    tell(dying, away)
    assert take(dying, by=Actor("ada"))
    outbox.send_due(using="default")
    tell(dying, what=What.OVER)

    began, site, taken, over = bodies_of(receiver)
    assert {body["routing_key"] for body in (began, site, taken, over)} == {"the-key"}
    actions = [body["event_action"] for body in (began, site, taken, over)]
    assert actions == ["trigger", "trigger", "acknowledge", "resolve"]
    assert began["dedup_key"] == taken["dedup_key"] == over["dedup_key"] == f"delayhub.example:dead:{biz_type.pk}"
    assert site["dedup_key"] == "delayhub.example:redis_away:site"
    assert (began["payload"]["severity"], site["payload"]["severity"]) == ("error", "critical")
    assert began["payload"]["summary"].startswith("order.close: jobs die, 3 lately.")
    assert began["payload"]["custom_details"]["dead"] == 3


def test_an_incident_is_resolved_though_the_code_of_its_biz_type_was_changed_meanwhile(
    receiver: Receiver, settings: Any, biz_type: BizType
) -> None:
    is_told_by("pagerduty", receiver, settings, key="the-key@")
    alert = open_alert(biz_type)

    tell(alert)
    alert.facts = {**alert.facts, "biz_type": "order.closing"}
    tell(alert, what=What.OVER)

    began, over = bodies_of(receiver)
    assert began["dedup_key"] == over["dedup_key"]


def test_no_alert_is_left_out_for_a_pager_however_many_begin_at_once(receiver: Receiver, settings: Any) -> None:
    is_told_by("pagerduty", receiver, settings, key="the-key@")
    biz_types = BizType.objects.bulk_create(
        [BizType(code=f"b{number}", url="https://shop.example", queue_name=f"b{number}") for number in range(60)]
    )

    tell(*(open_alert(biz_type) for biz_type in biz_types))

    assert len({body["dedup_key"] for body in bodies_of(receiver)}) == 60


def test_what_is_refused_is_sent_again_and_its_key_is_shown_nowhere(
    receiver: Receiver, settings: Any, biz_type: BizType
) -> None:
    is_told_by("pagerduty", receiver, settings, key="a-secret@")
    receiver.answer = answering(429)

    tell(open_alert(biz_type))

    message = AlertMessage.objects.get()
    assert message.sent_at is None
    assert message.next_at is not None
    assert Recipient(Channel(message.channel), message.address).shown == f"pagerduty+http://127.0.0.1:{receiver.port}"
    assert "a-secret" not in message.last_error


def test_a_pager_that_is_reached_late_hears_of_nothing_that_is_so_no_more(
    receiver: Receiver, settings: Any, biz_type: BizType
) -> None:
    is_told_by("pagerduty", receiver, settings, key="the-key@")
    later = timezone.now() + timedelta(hours=1)

    def tells(*alerts: Alert, what: What = What.BEGAN, status: int = 202) -> list[str]:
        receiver.answer = answering(status)
        receiver.received.clear()
        tell(*alerts, what=what)
        return [body["event_action"] for body in bodies_of(receiver)]

    first = open_alert(biz_type)
    assert tells(first, status=429) == ["trigger"]
    first.ended_at = timezone.now()
    first.save()
    # its begin comes after its end: nobody would ever resolve that
    assert tells(first, what=What.OVER) == ["resolve"]
    outbox.send_due(using="default", now=later)
    assert len(receiver.received) == 1

    assert tells(first, what=What.OVER, status=429) == ["resolve"]
    # the end of before comes after the next begin: it would look as if that were over
    again = open_alert(biz_type)
    assert tells(again) == ["trigger"]
    outbox.send_due(using="default", now=later)
    assert len(receiver.received) == 1
    assert not AlertMessage.objects.filter(sent_at=None).exists()


def test_what_an_earlier_release_wrote_for_a_pager_is_sent(
    receiver: Receiver, settings: Any, biz_type: BizType
) -> None:
    is_told_by("pagerduty", receiver, settings, key="the-key@")
    receiver.answer = answering(429)
    tell(open_alert(biz_type))
    message = AlertMessage.objects.get()
    del message.payload["data"]["alerts"][0]["biz_type_id"]
    message.save()
    receiver.answer = answering(202)

    assert outbox.send_due(using="default", now=timezone.now() + timedelta(hours=1)) == 1


def test_a_test_message_opens_no_incident_that_stays(receiver: Receiver, settings: Any) -> None:
    is_told_by("pagerduty", receiver, settings, key="the-key@")

    failure = outbox.send_test(Recipient(Channel.WEBHOOK, settings.DELAYHUB["OWNER_URL"]), biz_type=None, by="ada")

    assert failure == ""
    begun, ended = bodies_of(receiver)
    assert (begun["event_action"], ended["event_action"]) == ("trigger", "resolve")
    assert begun["dedup_key"] == ended["dedup_key"]
    assert begun["payload"]["severity"] == "info"


def test_one_receiver_that_is_down_for_many_biz_types_is_one_line(receiver: Receiver, settings: Any) -> None:
    is_told_by("slack", receiver, settings)
    biz_types = BizType.objects.bulk_create(
        [BizType(code=f"b{number}", url="https://shop.example", queue_name=f"b{number}") for number in range(8)]
    )

    tell(*(open_alert(biz_type, AlertKind.BREAKER_OPEN, host="shop.example") for biz_type in biz_types))

    (body,) = bodies_of(receiver)
    line = body["text"].splitlines()[0]
    assert line == (
        "*[DelayHub] b0, b1, b2, b3, b4 (+3): their receiver shop.example is down. Their jobs wait until it answers.*"
    )


def test_biz_types_without_an_access_token_have_a_line_each(receiver: Receiver, settings: Any) -> None:
    is_told_by("slack", receiver, settings)
    biz_types = BizType.objects.bulk_create(
        [BizType(code=f"b{number}", url="https://shop.example", queue_name=f"b{number}") for number in range(2)]
    )
    facts = {"host": "auth.example", "no_token": "auth.example: it answers 503"}

    tell(*(open_alert(biz_type, AlertKind.BREAKER_OPEN, **facts) for biz_type in biz_types))

    (body,) = bodies_of(receiver)
    assert "b0: no access token from auth.example: it answers 503" in body["text"]
    assert "b1: no access token from auth.example: it answers 503" in body["text"]
    assert "receiver" not in body["text"]


def test_an_alert_is_taken_once_and_its_owner_hears_by_whom(
    receiver: Receiver, settings: Any, biz_type: BizType
) -> None:
    is_told_by("slack", receiver, settings)
    alert = open_alert(biz_type)

    assert take(alert, by=Actor("ada"))
    assert not take(alert, by=Actor("bob"))
    outbox.send_due(using="default")

    (body,) = bodies_of(receiver)
    assert "ada sees to it: order.close: jobs die" in body["text"]
    entry = AuditEntry.objects.get(verb="alert.take")
    assert (entry.actor, entry.biz_type_id, entry.what) == ("ada", biz_type.pk, "it dies")
