"""What the audit keeps of a deed to messages of Celery."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tasksapp.access.actors import Actor
from tasksapp.access.audit import body_mark
from tasksapp.admin.celery_queues.deeds import NAMED_IDS, Chosen, record_deed, record_freed_key
from tasksapp.models import AuditEntry
from tasksapp.queues.celery_broker import Outcome, Place, QueueVerb

pytestmark = pytest.mark.django_db
ADA = Actor("ada", "192.0.2.7")


def test_a_deed_to_named_messages_keeps_some_of_the_names() -> None:
    ids = [f"m{number}" for number in range(50)]
    chosen = Chosen(verb=QueueVerb.RESCHEDULE, queue="celery", place=Place.WAITING, ids=tuple(ids))

    record_deed(chosen, Outcome(49, 1), by=ADA, due_at=datetime(2030, 1, 2, tzinfo=UTC), reason="the shop is closed")

    told = AuditEntry.objects.get()
    assert (told.actor, told.address, told.verb, told.what) == ("ada", "192.0.2.7", "queue.reschedule", "celery")
    assert told.after == {
        "place": "waiting", "done": 49, "left": 1, "ids": ids[:NAMED_IDS], "due_at": "2030-01-02T00:00:00+00:00",
    }  # fmt: skip
    assert told.reason == "the shop is closed"


def test_a_deed_to_a_whole_place_keeps_the_count_and_the_target() -> None:
    chosen = Chosen(verb=QueueVerb.TRANSFER, queue="q" * 500, place=Place.DEAD, ids=None)

    record_deed(chosen, Outcome(10_000, 5), by=ADA, target="other")

    told = AuditEntry.objects.get()
    assert told.after == {"place": "dead", "done": 10_000, "left": 5, "queue": "other"}
    assert len(told.what) == 200


def test_a_freed_key_is_kept_as_a_body_is() -> None:
    record_freed_key("celery", "order:7", holder="m-1", by=ADA, reason="it hangs")

    told = AuditEntry.objects.get()
    assert (told.actor, told.verb, told.what, told.reason) == ("ada", "queue.free_key", "celery", "it hangs")
    assert told.after == {"ids": ["m-1"], "unique_key": body_mark("order:7")}
