"""Messages are sent by a real mail server and to a real receiver, and again where that fails.

They are read there, with their sentences and in their language.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test.utils import override_script_prefix
from django.utils import timezone
from standardwebhooks import Webhook

from delayhub.webhooks.signature import new_secret
from tasksapp.alerts import outbox
from tasksapp.alerts.book import Event, What
from tasksapp.alerts.composer import Recipient, compose
from tasksapp.models import Alert, AlertKind, AlertMessage, BizType
from tests.integration.tasksapp.receiver import Receiver, answering
from tests.mail_sink import MailSink, mail_sink

pytestmark = pytest.mark.django_db

SITE_SECRET, OWN_SECRET = new_secret(), new_secret()


@pytest.fixture
def sink(settings: Any) -> Iterator[MailSink]:
    with mail_sink() as sink:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", sink.port
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.EMAIL_TIMEOUT = None
        yield sink


@pytest.fixture
def owner(settings: Any, receiver: Receiver) -> None:
    """The site has an owner, by mail and by webhook."""
    settings.DELAYHUB |= {
        "OWNER_MAIL": ["owner@shop.example"],
        "OWNER_URL": f"http://127.0.0.1:{receiver.port}/site",
        "OWNER_SECRET": SITE_SECRET,
        "SITE_URL": "https://delayhub.example",
    }


def store(biz_type: BizType, *, number: int = 1) -> None:
    """Messages about so many faults of the biz type, which wait to be sent."""
    now = timezone.now()
    kinds = [AlertKind.BREAKER_OPEN, AlertKind.DEAD, AlertKind.OVERDUE][:number]
    facts = {"biz_type": biz_type.code, "host": "shop.example", "died": 3, "dead": 3}
    alerts = [Alert.objects.create(kind=kind, biz_type_id=biz_type.pk, began_at=now, facts=facts) for kind in kinds]
    events = [Event(What.BEGAN, alert) for alert in alerts]
    outbox.put(compose(events, {biz_type.pk: biz_type}, now=now), now=now, using="default")


@pytest.mark.usefixtures("owner")
def test_the_owner_of_the_site_gets_one_message_by_each_way_with_all_faults(
    sink: MailSink, receiver: Receiver, biz_type: BizType
) -> None:
    store(biz_type, number=3)

    assert outbox.send_due(using="default") == 2
    assert outbox.send_due(using="default") == 0

    (mail,), (post,) = sink.mails, receiver.received
    assert (mail["To"], mail["Subject"]) == ("owner@shop.example", "[DelayHub] 3 alerts")
    assert "order.close: its receiver shop.example is down." in mail.get_content()
    assert "https://delayhub.example/admin/tasksapp/alert/" in mail.get_content()
    body = Webhook(SITE_SECRET).verify(post.body, post.headers)
    assert body["type"] == "delayhub.alerts"
    assert [alert["kind"] for alert in body["data"]["alerts"]] == ["breaker_open", "dead", "overdue"]


@pytest.mark.usefixtures("owner")
@pytest.mark.parametrize(
    ("site", "prefix", "forced"),
    [
        # a thread of the web process knows no prefix; a request does, and a command where a setting names it
        ("https://delayhub.example/hub/", "/", None),
        ("https://delayhub.example/hub", "/hub/", None),
        ("https://delayhub.example", "/hub/", "/hub"),
        ("https://delayhub.example", "/", "/hub"),
    ],
)
def test_a_site_below_a_path_has_it_once_in_its_links(
    sink: MailSink, settings: Any, biz_type: BizType, site: str, prefix: str, forced: str | None
) -> None:
    settings.DELAYHUB |= {"SITE_URL": site}
    settings.FORCE_SCRIPT_NAME = forced

    with override_script_prefix(prefix):
        store(biz_type)
    outbox.send_due(using="default")

    (mail,) = sink.mails
    assert mail.get_content().splitlines()[-1] == "https://delayhub.example/hub/admin/tasksapp/alert/"


@pytest.mark.usefixtures("owner")
def test_messages_are_in_the_language_that_the_settings_name(sink: MailSink, settings: Any, biz_type: BizType) -> None:
    settings.DELAYHUB |= {"ALERT_LANGUAGE": "zh-hans"}
    store(biz_type)

    outbox.send_due(using="default")

    assert "shop.example 不可用" in sink.subjects[0]


@pytest.mark.usefixtures("owner")
def test_an_owner_of_the_biz_type_is_told_instead_with_its_own_signature(
    sink: MailSink, receiver: Receiver, biz_type: BizType
) -> None:
    biz_type.owner_mail = "ann@team.example, bob@team.example"
    biz_type.owner_url = f"http://127.0.0.1:{receiver.port}/team"
    biz_type.signing_secret = OWN_SECRET
    biz_type.save()
    store(biz_type)

    outbox.send_due(using="default")

    assert sorted(str(mail["To"]) for mail in sink.mails) == ["ann@team.example", "bob@team.example"]
    (post,) = receiver.received
    assert post.path == "/team"
    assert Webhook(OWN_SECRET).verify(post.body, post.headers)


@pytest.mark.usefixtures("owner")
def test_a_failed_send_shows_and_is_tried_again_with_the_same_id(
    sink: MailSink, receiver: Receiver, biz_type: BizType
) -> None:
    receiver.answer, sink.refuses = answering(503), True
    store(biz_type)
    now = timezone.now()

    assert outbox.send_due(using="default", now=now) == 0

    failed = list(AlertMessage.objects.all())
    assert [row.failed_sends for row in failed] == [1, 1]
    assert "503" in next(row.last_error for row in failed if row.channel == "webhook")
    assert "try again later" in next(row.last_error for row in failed if row.channel == "mail")
    receiver.answer, sink.refuses = answering(204), False
    assert outbox.send_due(using="default", now=now + timedelta(seconds=9)) == 0
    assert outbox.send_due(using="default", now=now + timedelta(seconds=11)) == 2
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]


@pytest.mark.usefixtures("owner", "sink")
def test_what_cannot_be_sent_for_a_day_is_given_up(receiver: Receiver, biz_type: BizType) -> None:
    receiver.answer = answering(503)
    store(biz_type)
    row = AlertMessage.objects.get(channel="webhook")

    tries = 0
    while row.next_at is not None:
        outbox.send_due(using="default", now=row.next_at)
        row.refresh_from_db()
        tries += 1

    assert row.given_up_at is not None
    assert timedelta(hours=22) < row.given_up_at - row.created_at <= timedelta(days=1)
    assert 25 < tries < 40


@pytest.mark.usefixtures("sink")
def test_no_message_goes_to_an_address_that_callbacks_may_not_go_to(settings: Any) -> None:
    settings.DELAYHUB |= {"ALLOWED_NETWORKS": []}

    failure = outbox.send_test(Recipient(AlertMessage.Channel.WEBHOOK, "http://127.0.0.1:1/"), biz_type=None, by="ada")

    assert "callbacks may not go to 127.0.0.1" in failure
    assert AlertMessage.objects.get().next_at is None


def test_a_test_message_says_who_sent_it(sink: MailSink, biz_type: BizType) -> None:
    recipient = Recipient(AlertMessage.Channel.MAIL, "ann@team.example")

    assert outbox.send_test(recipient, biz_type=biz_type, by="ada") == ""

    assert "This is a test by ada: alerts about order.close come to this address." in sink.mails[0].get_content()


@pytest.mark.usefixtures("owner", "sink")
def test_a_post_to_who_was_the_owner_of_a_biz_type_is_signed_by_it_still(receiver: Receiver, biz_type: BizType) -> None:
    biz_type.owner_url = f"http://127.0.0.1:{receiver.port}/team"
    biz_type.signing_secret = OWN_SECRET
    biz_type.save()
    store(biz_type)
    BizType.objects.update(owner_url="")

    outbox.send_due(using="default")

    (post,) = receiver.received
    assert Webhook(OWN_SECRET).verify(post.body, post.headers)
