"""What a person can do to messages of Celery: the form, the words, and the deed with its record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.db import router
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tasksapp.access.actors import Actor
from tasksapp.access.audit import WHAT_LENGTH, entry, record
from tasksapp.admin.frame.fields import reason_field
from tasksapp.admin.frame.requests import actor_of
from tasksapp.models import AuditEntry
from tasksapp.queues.celery_broker import CeleryBroker, Outcome, Place, QueueVerb

#: Messages that one request names at most: a page of them.
MOST_IDS = 100

LABELS = {
    QueueVerb.RUN_NOW: gettext_lazy("Run now"),
    QueueVerb.RESCHEDULE: gettext_lazy("Move to a time …"),
    QueueVerb.TRANSFER: gettext_lazy("Move to a queue …"),
    QueueVerb.REDRIVE: gettext_lazy("Redrive"),
    QueueVerb.REVOKE: gettext_lazy("Revoke …"),
}

MEANINGS = {
    QueueVerb.RUN_NOW: gettext_lazy("Each becomes due now, and the next free worker runs it."),
    QueueVerb.RESCHEDULE: gettext_lazy("Each waits until the new time; a time that has passed means at once."),
    QueueVerb.TRANSFER: gettext_lazy(
        "Each keeps its due time and priority in the other queue, and tries again there if it fails."
    ),
    QueueVerb.REDRIVE: gettext_lazy("Each is in line again at once, without its strikes."),
    QueueVerb.REVOKE: gettext_lazy(
        "None of them runs any more; code that waits for their results gets the state REVOKED. A worker that has one is"
        " asked to leave it; one that runs already goes on. A job whose message is"
        " revoked sends another: cancel the job instead."
    ),
}
#: What cannot be taken back, and what needs more words than a button has.
ASKS = {QueueVerb.REVOKE, QueueVerb.RESCHEDULE, QueueVerb.TRANSFER}
#: Ids of messages that one entry names at most.
NAMED_IDS = 20


class ChosenForm(forms.Form):
    """What was chosen on a queue's page."""

    verb = forms.ChoiceField(choices=[(verb.value, verb.value) for verb in QueueVerb])
    queue = forms.CharField(max_length=512, strip=False)
    place = forms.ChoiceField(choices=[(place.value, place.value) for place in Place])
    whole = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        """Refuses a verb for what it cannot be done to."""
        cleaned = super().clean() or {}
        if {"verb", "place"} <= cleaned.keys():
            cleaned["verb"], cleaned["place"] = QueueVerb(cleaned["verb"]), Place(cleaned["place"])
            if cleaned["place"] not in cleaned["verb"].places:
                self.add_error("place", _("That cannot be done to them."))
        return cleaned


class ReasonForm(forms.Form):
    """What a person says before anything is done to a queue."""

    reason = reason_field(gettext_lazy("Reason"), gettext_lazy("Kept in the record of what was done. May be empty."))


class DeedForm(ReasonForm):
    """What a person says of a deed before it is done; each verb asks for what it needs."""

    field_order = ("due_at", "target", "reason")

    due_at = forms.DateTimeField(
        label=gettext_lazy("New time"),
        input_formats=["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"],
        widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M:%S", attrs={"type": "datetime-local", "step": "1"}),
    )
    target = forms.ChoiceField(label=gettext_lazy("Queue"))

    def __init__(self, *args: Any, verb: QueueVerb, targets: list[str], **options: Any) -> None:
        super().__init__(*args, **options)
        if verb is not QueueVerb.RESCHEDULE:
            del self.fields["due_at"]
        if verb is QueueVerb.TRANSFER:
            field = self.fields["target"]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [(name, name) for name in targets]
        else:
            del self.fields["target"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """Messages that a person chose, and what is to be done to them.

    Args:
        verb: what to do.
        queue: the queue.
        place: where they are.
        ids: the messages; None for all of the place.
    """

    verb: QueueVerb
    queue: str
    place: Place
    ids: tuple[str, ...] | None

    @property
    def asks_first(self) -> bool:
        """Whether a person is asked before it is done."""
        return self.verb in ASKS or self.ids is None or len(self.ids) > 1

    @classmethod
    def of(cls, request: HttpRequest) -> Chosen | None:
        """What the request's form names; None where it makes no sense."""
        form = ChosenForm(request.POST)
        if not form.is_valid():
            return None
        found = form.cleaned_data
        ids = None if found["whole"] else tuple(dict.fromkeys(request.POST.getlist("ids")))[:MOST_IDS]
        return cls(verb=found["verb"], queue=found["queue"], place=found["place"], ids=ids)


def do(
    request: HttpRequest,
    broker: CeleryBroker,
    chosen: Chosen,
    *,
    due_at: datetime | None = None,
    target: str = "",
    reason: str = "",
) -> None:
    """Does it, records it, and shows the person what became of the messages. Raises what Redis raises."""
    outcome = broker.apply(chosen.verb, chosen.queue, place=chosen.place, ids=chosen.ids, due_at=due_at, target=target)
    if outcome.done:
        record_deed(chosen, outcome, by=actor_of(request), due_at=due_at, target=target, reason=reason)
    _report(request, chosen, outcome, due_at=due_at, target=target)


def _report(request: HttpRequest, chosen: Chosen, outcome: Outcome, *, due_at: datetime | None, target: str) -> None:
    if outcome.done:
        messages.success(request, _done(chosen, outcome.done, due_at=due_at, target=target))
    if not outcome.left:
        if not outcome.done:
            messages.info(request, _("There was nothing to do: the messages are gone."))
        return
    if chosen.ids is None:
        text = ngettext(
            "%(count)s message is left: press the button again to go on.",
            "%(count)s messages are left: press the button again to go on.",
            outcome.left,
        )
    else:
        text = ngettext(
            "%(count)s message was left alone: a worker has it, or it is gone.",
            "%(count)s messages were left alone: workers have them, or they are gone.",
            outcome.left,
        )
    messages.warning(request, text % {"count": f"{outcome.left:,}"})


def _done(chosen: Chosen, done: int, *, due_at: datetime | None, target: str) -> str:
    count = {"count": f"{done:,}"}
    match chosen.verb:
        case QueueVerb.RUN_NOW:
            text = ngettext("%(count)s message is due now.", "%(count)s messages are due now.", done)
        case QueueVerb.RESCHEDULE:
            assert due_at is not None
            count["time"] = f"{timezone.localtime(due_at):%Y-%m-%d %H:%M:%S %Z}"
            text = ngettext("%(count)s message waits until %(time)s.", "%(count)s messages wait until %(time)s.", done)
        case QueueVerb.TRANSFER:
            count["queue"] = target
            text = ngettext("%(count)s message is in %(queue)s now.", "%(count)s messages are in %(queue)s now.", done)
        case QueueVerb.REDRIVE:
            text = ngettext("%(count)s message is in line again.", "%(count)s messages are in line again.", done)
        case QueueVerb.REVOKE if chosen.place is Place.LEASED:
            text = ngettext(
                "The workers were asked to leave %(count)s task.",
                "The workers were asked to leave %(count)s tasks.",
                done,
            )
        case QueueVerb.REVOKE:
            text = ngettext("%(count)s message was revoked.", "%(count)s messages were revoked.", done)
    return text % count


def record_deed(
    chosen: Chosen, outcome: Outcome, *, by: Actor, due_at: datetime | None = None, target: str = "", reason: str = ""
) -> None:
    """Records what was done. Messages are in Redis, so this is written after it, in a transaction of its own.

    Args:
        chosen: what was done, and to which messages.
        outcome: to how many messages.
        by: who did it.
        due_at: their new time.
        target: their new queue.
        reason: why, in the words of the person.
    """
    after: dict[str, object] = {"place": chosen.place.value, "done": outcome.done, "left": outcome.left}
    if chosen.ids is not None:
        after["ids"] = list(chosen.ids[:NAMED_IDS])
    if due_at is not None:
        after["due_at"] = due_at
    if target:
        after["queue"] = target
    told = entry(f"queue.{chosen.verb}", by=by, what=chosen.queue[:WHAT_LENGTH], after=after, reason=reason)
    record([told], using=router.db_for_write(AuditEntry))


def record_freed_key(queue: str, key: str, *, holder: str, by: Actor, reason: str = "") -> None:
    """Records that a unique key was freed. It is kept as a body is: it is made of a task's arguments.

    Args:
        queue: the queue.
        key: the key.
        holder: the message that had it.
        by: who freed it.
        reason: why, in the words of the person.
    """
    after = {"ids": [holder], "unique_key": key}
    told = entry("queue.free_key", by=by, what=queue[:WHAT_LENGTH], after=after, reason=reason)
    record([told], using=router.db_for_write(AuditEntry))
