"""CeleryBroker: the broker of this process' Celery app, as pages look at it and act on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple, TypeVar

from celery import Celery
from django.utils.translation import gettext as _
from kombu import Connection

from delayhub.celery_support import queue_verbs
from delayhub.celery_support.held_keys import HeldKey
from delayhub.celery_support.queue_browser import QueueBrowser, QueueSummary
from delayhub.celery_support.queue_verbs import Outcome
from delayhub.celery_support.queued_task import QueuedTask
from delayhub.celery_support.revocation import revoke_waiting
from delayhub.celery_support.task_limits import LOOKED_AT, TaskLimit
from delayhub.clock import runnable_ms
from delayhub.engine import DelayQueue, Listed, Place
from delayhub.engine.key_holders import KeyHolder
from delayhub.engine.unique import Until
from delayhub.errors import OptionError
from tasksapp.conf import options
from tasksapp.timers.broker import address_of, broker, celery_app
from tasksapp.timers.lanes import timer_server, watched

__all__ = [
    "LOOKED_AT",
    "CeleryBroker",
    "HeldKey",
    "KeyHolder",
    "NoBroker",
    "Outcome",
    "Place",
    "QueueSummary",
    "QueueVerb",
    "QueuedTask",
    "TaskLimit",
    "Until",
    "celery_broker",
]

T = TypeVar("T")


class QueueVerb(StrEnum):
    """What a person can do to messages."""

    RUN_NOW = "run_now"
    RESCHEDULE = "reschedule"
    TRANSFER = "transfer"
    REDRIVE = "redrive"
    REVOKE = "revoke"

    @property
    def places(self) -> tuple[Place, ...]:
        """Where messages are that it can be done to."""
        return _PLACES[self]


#: A message that a worker holds is that worker's; only to revoke it can be asked for.
_PLACES: Mapping[QueueVerb, tuple[Place, ...]] = {
    QueueVerb.RUN_NOW: (Place.WAITING,),
    QueueVerb.RESCHEDULE: (Place.WAITING, Place.READY, Place.PARKED),
    QueueVerb.TRANSFER: (Place.WAITING, Place.READY, Place.PARKED, Place.DEAD),
    QueueVerb.REDRIVE: (Place.DEAD,),
    QueueVerb.REVOKE: (Place.WAITING, Place.READY, Place.PARKED, Place.LEASED, Place.DEAD),
}


class NoBroker(NamedTuple):
    """There are no queues to show; the sentence says why, to people."""

    sentence: str


@contextmanager
def celery_broker() -> Iterator[CeleryBroker | NoBroker]:
    """The broker, which waits a second for Redis at most; or why there is none to look at. Nothing is connected yet."""
    try:
        connection = broker()
        scheme = str(connection.transport_cls)
        if not scheme.startswith("delayhub"):
            yield NoBroker(
                _("Celery's broker is %(scheme)s://, which only Celery's own tools can look into.") % {"scheme": scheme}
            )
            return
        browser = QueueBrowser(connection, lanes=options().lanes)
    except (OptionError, ValueError, KeyError, ImportError) as error:  # the last: the driver of another broker
        yield NoBroker(_("This process cannot look at Celery's queues: %(why)s.") % {"why": str(error).rstrip(".")})
        return
    try:
        yield CeleryBroker(connection, browser, app=celery_app())
    finally:
        browser.close()


class CeleryBroker:
    """The queues of one broker of ours, and verbs over their messages.

    All that asks Redis raises RedisError or OSError where it does not answer.

    Args:
        connection: kombu's, not opened.
        browser: looks at the queues.
        app: the Celery app; None in a process that knows only the broker's URL.
    """

    def __init__(self, connection: Connection, browser: QueueBrowser, *, app: Celery | None) -> None:
        self._connection = connection
        self._app: Any = app
        self.browser = browser

    @property
    def address(self) -> str:
        """Server and database, without credentials."""
        return address_of(self.browser.client.connection_pool) or "sentinels"

    def watched(self, call: Callable[[], T]) -> T:
        """What the call gives back, which asks this broker; raises at once where pages just waited for it in vain."""
        timers = ""
        with suppress(OptionError):
            timers = timer_server() or ""
        return watched(call, server="" if self.address == timers else self.address)

    def names(self) -> list[str]:
        """The names of all queues, timer lanes too."""
        declared = list(self._app.amqp.queues) if self._app is not None else []
        return self.browser.names([*declared, *options().lanes])

    def used_names(self) -> list[str]:
        """The queues that settings declare or that were ever used here: the same without looking through all keys."""
        declared = list(self._app.amqp.queues) if self._app is not None else []
        return self.browser.used_names([*declared, *options().lanes])

    def is_lane(self, queue: str) -> bool:
        """Whether the queue holds the timers of jobs."""
        [found] = self.browser.summaries([queue])
        return found.is_lane

    @property
    def can_revoke(self) -> bool:
        """Whether this process has the Celery app, which knows where results are stored."""
        return self._app is not None

    def apply(
        self,
        verb: QueueVerb,
        queue: str,
        *,
        place: Place,
        ids: Sequence[str] | None,
        due_at: datetime | None = None,
        target: str = "",
    ) -> Outcome:
        """What became of the messages: how many were done, how many left.

        Args:
            verb: what to do.
            queue: the queue.
            place: where the messages are.
            ids: the messages; None for all of the place: 10 000 or two seconds of them at once.
            due_at: their new time, to reschedule.
            target: their new queue, to transfer.
        """
        messages = self.browser.queue(queue)
        at_ms = runnable_ms(due_at) if due_at is not None else 0
        deed = self._deed(verb, messages, place=place, at_ms=at_ms, target=target)
        if ids is not None:
            done = deed(ids)
            return Outcome(done, max(0, len(ids) - done))  # copies of a task are revoked with it
        return queue_verbs.over_place(messages, place, deed, but_at_ms=at_ms or None)

    def _deed(
        self, verb: QueueVerb, messages: DelayQueue, *, place: Place, at_ms: int, target: str
    ) -> queue_verbs.Deed:
        match verb:
            case QueueVerb.RUN_NOW | QueueVerb.RESCHEDULE:
                return partial(queue_verbs.reschedule, messages, due_ms=at_ms)
            case QueueVerb.TRANSFER:
                return partial(queue_verbs.transfer, messages, to=self.browser.queue(target))
            case QueueVerb.REDRIVE:
                return partial(queue_verbs.redrive, messages)
            case QueueVerb.REVOKE:
                return partial(self._revoke, messages, is_held=place is Place.LEASED)

    def _revoke(self, messages: DelayQueue, ids: Sequence[str], *, is_held: bool) -> int:
        tasks = _task_ids(messages, ids)
        if is_held:
            # The workers that hold them are asked, and may be past it; those that wait elsewhere are removed too.
            self._app.control.revoke(tasks)
            return len(tasks)
        with self._app.connection_for_write() as connection:
            return revoke_waiting(self._app, connection.default_channel, [messages.name], tasks)


def _task_ids(messages: DelayQueue, ids: Sequence[str]) -> list[str]:
    """Celery's ids of messages: a copy is stored under a name of its own, and so is one whose id is too long."""
    found: dict[str, None] = {}
    for entry_id, payload in messages.stored(ids).items():
        task_id = QueuedTask.of(Listed(entry_id, 0, 0, 0, None, payload), Place.WAITING).task_id
        found[task_id if task_id and entry_id.partition("#")[0] == task_id.partition("#")[0] else entry_id] = None
    return list(found)
