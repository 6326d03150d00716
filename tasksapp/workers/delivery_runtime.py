"""DeliveryRuntime: what a worker process needs to deliver, made once when the worker is ready."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from typing import NamedTuple

from django.db import Error, router

from delayhub.telemetry import tracing
from tasksapp.biz_types.token_share import RedisTokenShare
from tasksapp.conf import options
from tasksapp.delivery.address_guard import AddressGuard
from tasksapp.delivery.authorized_sender import AuthorizedSender
from tasksapp.delivery.dispatcher import Dispatcher, Sends
from tasksapp.delivery.fair_queue import Caps
from tasksapp.delivery.outcome_writer import OutcomeWriter
from tasksapp.delivery.sender import Sender
from tasksapp.delivery.token_keeper import TokenKeeper
from tasksapp.jobs.claimer import Claimer
from tasksapp.jobs.completer import Completer
from tasksapp.models import Job
from tasksapp.sql.claim_answer import ClaimAnswer
from tasksapp.timers.lanes import client
from tasksapp.timers.redis_clock import RedisClock
from tasksapp.workers.job_callbacks import JobCallbacks
from tasksapp.workers.traced_attempts import TracedSender

logger = logging.getLogger(__name__)

#: How long open callbacks may go on when the worker stops; supervisors often kill it after 10 s.
DRAIN_SECONDS = 8.0
#: How long a thread that computes keeps the interpreter from the others. At Python's own 5 ms, claims and outcomes,
#: which wait for the database several times, waited each time until the thread that sends let them go on (decision 58).
SWITCH_SECONDS, PYTHONS_OWN = 0.001, 0.005


class DeliveryRuntime:
    """The clock, claimer, completer and running dispatcher of one process."""

    def __init__(self) -> None:
        now = options()
        worker, self.using = worker_name(), router.db_for_write(Job)
        self.clock = RedisClock(client)
        self.claimer = Claimer(clock=self.clock, worker=worker, using=self.using)
        self.completer = Completer(clock=self.clock, worker=worker, using=self.using)
        self.callbacks = JobCallbacks(clock=self.clock, completer=self.completer)
        self.outcome_writer = OutcomeWriter(
            write=self.callbacks.write,
            renew=self.callbacks.renew,
            close=self.completer.close,
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
        self.completer.on_breaker_open = self.dispatcher.give_back
        self.dispatcher.start()
        if sys.getswitchinterval() == PYTHONS_OWN:  # else the site has chosen
            sys.setswitchinterval(SWITCH_SECONDS)

    def hand_over(self, answer: ClaimAnswer, *, claimed_at: float) -> None:
        """Gives the dispatcher the callbacks of the jobs that were claimed; waits while the process is full.

        Args:
            answer: the claim's answer.
            claimed_at: monotonic seconds from before the claim.
        """
        self.dispatcher.hand_over(self.callbacks.make(self.claimer.running_jobs(answer), claimed_at=claimed_at))

    def close(self, *, drain_seconds: float = DRAIN_SECONDS) -> None:
        """Lets open callbacks end, gives back the others, and writes every outcome."""
        self.dispatcher.stop(drain_seconds=drain_seconds)

    def _make_sender(self) -> Sends:
        now, clock, guard = options(), self.clock, AddressGuard(options().allowed_networks)
        tokens = TokenKeeper(guard=guard, clock=clock, share=RedisTokenShare(clock), hold_seconds=now.breaker_seconds)
        sender = AuthorizedSender(
            Sender(guard=guard, clock=clock, response_bytes=now.response_bytes), tokens=tokens, clock=clock
        )
        # Whether the process traces is asked at each callback: a worker's child may set that up later than this.
        return TracedSender(sender) if tracing.is_installed() else sender


def worker_name() -> str:
    """The name that rows get as their worker: host and process."""
    return f"{socket.gethostname()}:{os.getpid()}"[:200]


class _OfProcess:
    """The runtime of this process; a forked child makes its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.runtime: DeliveryRuntime | None = None

    def forget(self) -> None:
        self.__init__()  # type: ignore[misc]  # a child has its parent's objects, but none of its threads


_here = _OfProcess()
os.register_at_fork(after_in_child=_here.forget)


def delivery_runtime() -> DeliveryRuntime:
    """This process' runtime, made when it is first needed."""
    with _here.lock:
        if _here.runtime is None:
            _here.runtime = DeliveryRuntime()
        return _here.runtime


class DeliveryActivity(NamedTuple):
    """What the runtime of a process does at this moment; ``last_claim_ms`` is Redis' time, 0 for never."""

    open_callbacks: int = 0
    last_claim_ms: int = 0


def delivery_activity() -> DeliveryActivity:
    """What this process' runtime does; nothing where there is none, and none is made."""
    runtime = _here.runtime
    if runtime is None:
        return DeliveryActivity()
    return DeliveryActivity(runtime.dispatcher.open_callbacks, runtime.claimer.last_claim_ms)


def warm_up() -> None:
    """Makes the runtime and claims nothing once, so that the first job need not wait for all this."""
    runtime = delivery_runtime()
    try:
        runtime.claimer.claim_due([], now_ms=runtime.clock.now_ms())
    except Error as error:
        logger.warning("the database does not answer yet: %s", error, extra={"action": "warm_up"})


def close_delivery_runtime() -> None:
    """Closes the runtime, if there is one."""
    with _here.lock:
        runtime, _here.runtime = _here.runtime, None
    if runtime is not None:
        runtime.close()
