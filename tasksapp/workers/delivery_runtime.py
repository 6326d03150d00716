"""What a worker process needs to deliver: its clock, its courier and its dispatcher, made when the worker is ready."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable
from functools import partial

from django.db import Error, router

import delayhub
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.dispatcher import Dispatcher
from tasksapp.delivery.fair_queue import Caps
from tasksapp.delivery.outcome_writer import OutcomeWriter
from tasksapp.delivery.sender import Sender
from tasksapp.models import Job
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.claimer import Courier

logger = logging.getLogger(__name__)

#: How long open callbacks may go on when the worker stops; a supervisor's patience is often 10 s.
DRAIN_SECONDS = 8.0


class PostOffice:
    """A running dispatcher, and what works for it."""

    def __init__(self) -> None:
        self.clock = RedisClock(client)
        self.courier = Courier(clock=self.clock, worker=worker_name(), using=router.db_for_write(Job))
        now = options()
        self.outcome_writer = OutcomeWriter(
            write=self.courier.write,
            renew=self.courier.renew,
            close=self.courier.close,
            clock=self.clock,
            flush_size=now.flush_size,
            flush_seconds=now.flush_seconds,
            renew_seconds=now.renew_seconds,
        )
        self.dispatcher = Dispatcher(
            self._make_sender,
            writer=self.outcome_writer,
            caps=Caps(process=now.dispatcher_concurrency, biz_type=now.biz_type_concurrency, host=now.host_concurrency),
            clock=self.clock,
        )
        self.courier.on_broken = partial(self.dispatcher.give_back, reason="the receiver is down")
        self.dispatcher.start()

    def close(self, *, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Lets open callbacks end, gives back the others, and writes every outcome."""
        self.dispatcher.stop(drain_seconds=drain_seconds)

    def _make_sender(self) -> Sender:
        return Sender(
            guard=AddressGuard(options().allowed_networks),
            clock=self.clock,
            response_bytes=options().response_bytes,
            user_agent=f"DelayHub/{delayhub.__version__}",
        )


def worker_name() -> str:
    """What rows get as their worker: host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"[:200]


class _OfPid:
    """The post office of this process; a forked child makes its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.office: PostOffice | None = None

    def forget(self) -> None:
        self.__init__()  # type: ignore[misc]  # a child has its parent's objects, but none of its threads


_here = _OfPid()
os.register_at_fork(after_in_child=_here.forget)


def post_office(make: Callable[[], PostOffice] = PostOffice) -> PostOffice:
    """This process' post office, opened when it is first needed."""
    with _here.lock:
        if _here.office is None:
            _here.office = make()
        return _here.office


def warm_up() -> None:
    """Opens it before the first job comes, and claims nothing once: else that job would be late by all this."""
    office = post_office()
    try:
        office.courier.claim([], now_ms=office.clock.now_ms())
    except Error as error:
        logger.warning("the database is not there yet: %s", error, extra={"action": "warm_up"})


def close_post_office() -> None:
    """Closes it, if it was opened."""
    with _here.lock:
        office, _here.office = _here.office, None
    if office is not None:
        office.close()
