"""A Celery project without Django, whose tasks write down that they ran."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from datetime import datetime
from typing import Any

import redis
from celery import Celery
from celery.exceptions import Reject
from celery.signals import task_postrun

import delayhub

app = Celery("proj", broker=os.environ["BROKER_URL"], backend=os.environ["RESULT_URL"])
app.conf.update(
    broker_transport_options={
        "lease_seconds": float(os.environ.get("LEASE_SECONDS", "30")),
        "max_strikes": int(os.environ.get("MAX_STRIKES", "16")),
    },
    broker_connection_retry_on_startup=True,
    **({"broker_connection_max_retries": int(os.environ["MAX_RETRIES"])} if "MAX_RETRIES" in os.environ else {}),
    beat_schedule={
        "often": {"task": "proj.tick", "schedule": 0.3, "args": ["often"]},
        "later": {"task": "proj.tick", "schedule": 0.3, "args": ["later"], "options": {"countdown": 0.5}},
        "stale": {
            "task": "proj.tick",
            "schedule": 0.3,
            "args": ["stale"],
            "options": {"countdown": 0.5, "expires": 0.1},
        },
    },
    worker_send_task_events=bool(os.environ.get("EVENTS")),
    worker_prefetch_multiplier=int(os.environ.get("PREFETCH", "4")),
    **({"task_acks_late": True} if "ACKS_LATE" in os.environ else {}),
    **({"task_reject_on_worker_lost": True} if "REJECT_LOST" in os.environ else {}),
    **({"worker_cancel_long_running_tasks_on_connection_loss": True} if "CANCELS" in os.environ else {}),
    worker_soft_shutdown_timeout=float(os.environ.get("SOFT_SECONDS", "0")),
    worker_deduplicate_successful_tasks=bool(os.environ.get("DEDUPLICATE")),
    worker_disable_prefetch=bool(os.environ.get("DISABLE_PREFETCH")),
)
if "PLAIN" not in os.environ:  # which a project is that has not moved over yet
    delayhub.install(app, safe="SAFE" in os.environ)
ledger = redis.Redis.from_url(os.environ["RESULT_URL"])


def note(event: str, task: Any) -> None:
    ledger.rpush(f"ledger:{event}", f"{task.request.id} {time.time()}")  # noqa: TID251  compared on one machine


@app.task(bind=True)
def run(self: Any, seconds: float = 0.0) -> str:
    note("start", self)
    if seconds:
        time.sleep(seconds)  # it stands for work
    note("end", self)
    return str(self.request.id)


@app.task(bind=True, acks_late=True)
def late(self: Any, seconds: float) -> None:
    run_for(self, seconds)


@app.task(bind=True, acks_late=False)
def early(self: Any, seconds: float) -> None:
    run_for(self, seconds)


def run_for(task: Any, seconds: float) -> None:
    note("start", task)
    time.sleep(seconds)  # it stands for work
    note("end", task)


@app.task(bind=True)
def compute(self: Any, seconds: float) -> None:
    note("start", self)
    ctypes.CDLL(None).usleep(int(seconds * 1e6))  # stands for computing: no greenlet runs meanwhile, but threads do
    note("end", self)


@app.task(bind=True)
def compute_in_c(self: Any, seconds: float) -> None:
    ledger.ping()  # connected
    note("start", self)
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))  # a PyDLL's functions do not let go of the interpreter
    note("end", self)


@app.task(bind=True, max_retries=3)
def flaky(self: Any) -> int:
    note("start", self)
    if self.request.retries < 2:
        raise self.retry(countdown=0.05)
    return int(self.request.retries)


@app.task(bind=True, unique=delayhub.Unique(by=["key"]), max_retries=3)
def alone(self: Any, key: str, waiter: str = "") -> None:
    note("alone", self)
    if waiter and not self.request.retries:
        self.apply_async([key], task_id=waiter, link=note_error.si())  # others wait for it, so it waits for the key
        raise self.retry(countdown=0)


@app.task(bind=True)
def eta_of(self: Any) -> Any:
    return self.request.eta


@app.task(bind=True)
def lose_first_process(self: Any) -> str:
    if not self.request.delivery_info["redelivered"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return "the second process"


@app.task
def add(x: int, y: int) -> int:
    return x + y


@app.task(bind=True, Request="own_request:OwnRequest")
def own(self: Any) -> None:
    note("start", self)


@app.task
def total(numbers: list[int]) -> int:
    return sum(numbers)


@app.task
def note_error(*args: Any) -> None:
    ledger.rpush("ledger:error", "1")


@app.task(bind=True, acks_late=True, reject_on_worker_lost=True, acks_on_failure_or_timeout=False)
def die(self: Any, *, slowly: bool = False) -> None:
    note("start", self)
    if slowly:
        time.sleep(60)  # until the hard time limit
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(bind=True)
def tick(self: Any, name: str) -> None:
    eta = self.request.eta
    late = time.time() - datetime.fromisoformat(eta).timestamp() if eta else 0.0  # noqa: TID251  one machine's clock
    ledger.rpush(f"ledger:{name}", late)


@app.task(bind=True)
def clock(self: Any, seconds: float) -> None:
    right, micros = ledger.time()
    skew = time.time() - right - micros / 1e6  # noqa: TID251  the clock under test
    ledger.rpush("ledger:clock", f"{self.request.id} {right * 1000 + micros / 1000} {skew * 1000}")
    time.sleep(seconds)  # it stands for work


@app.task(bind=True, rate_limit="5/s")
def limited(self: Any) -> None:
    note("start", self)


@app.task(bind=True, acks_late=False, flow_key_by="tenant", key_max_in_flight=1)
def keyed(self: Any, tenant: str) -> str:
    note(tenant, self)
    time.sleep(0.1)  # it stands for work
    note(tenant, self)
    return str(self.request.headers["x-delayhub-key"])


@app.task(bind=True, acks_late=True)
def reject_first(self: Any) -> bool:
    note("start", self)
    if not self.request.delivery_info["redelivered"]:
        raise Reject("not yet", requeue=True)
    return True


if os.environ.get("DIES_AFTER_TASK"):

    @task_postrun.connect
    def die_before_the_acknowledgement(**_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


@app.task(bind=True, acks_late=True)
def reluctant(self: Any) -> None:
    note("start", self)
    if ledger.incr("reluctant") < 3:
        raise Reject("not yet", requeue=True)
