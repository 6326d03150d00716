"""Whether timers can fire: what in the settings, or in a worker, keeps every job from running."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import redis
from django.apps import AppConfig
from django.core import checks
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from kombu import Exchange, Queue

from delayhub.errors import OptionError
from delayhub.transport.broker_pool import broker_pool
from delayhub.transport.timer_queue import BATCH_ARGUMENT, TASK_ARGUMENT
from tasksapp.conf import options
from tasksapp.timers.broker import address_of, broker, celery_app, timer_pool, timer_prefix
from tasksapp.timers.lanes import client, patient_lanes

#: The task that timers become, and the most timers in one call of it.
TIMER_TASK, TIMER_BATCH = "tasksapp.deliver", 100


def timer_queue(lane: str) -> Queue:
    """Return the Celery queue of a timer lane, with an exchange of its own so that Celery gives it no other."""
    arguments = {TASK_ARGUMENT: TIMER_TASK, BATCH_ARGUMENT: TIMER_BATCH}
    return Queue(lane, Exchange(lane, "direct"), lane, queue_arguments=arguments)


def add_timer_queues(app: Any) -> None:
    """Adds the timer lanes to the queues that a worker of the app consumes, unless they are there."""
    for lane in options().lanes:
        if lane not in app.amqp.queues:
            app.amqp.queues.select_add(timer_queue(lane))


def check_broker(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """An error where timers have no place, or where they cannot become messages; asks no server."""
    try:
        found: list[CheckMessage] = [
            Error(f"jobs cannot run: {fault}", id="delayhub.E004") for fault in settings_faults()
        ]
        if not found and (elsewhere := _other_address()):
            found.append(checks.Warning(elsewhere, hint="Leave DELAYHUB['REDIS_URL'] out.", id="delayhub.W003"))
    except ImproperlyConfigured:  # another check reports the options
        return []
    return found


_IN_PASSWORDS = "in a password signs such as / # ? % must be written as %2F %23 %3F %25"


def names_redis() -> bool:
    """Whether the settings name a Redis for timers; :func:`settings_faults` says what is wrong where they do not."""
    try:
        timer_pool(timeout_seconds=1)
    except (OptionError, ValueError):
        return False
    return True


def settings_faults() -> list[str]:
    """What in the settings keeps every job from running, a sentence for each; asks no server."""
    for pool, place in ((_brokers_pool, "the broker's URL"), (timer_pool, "DELAYHUB['REDIS_URL']")):
        try:
            pool(timeout_seconds=1)
        except OptionError as error:
            return [str(error) if pool is _brokers_pool else f"{place}: {error}"]
        except ValueError:  # redis-py's or kombu's, which may quote a part of the password
            return [f"{place} cannot be read: it must be like delayhub://host:6379/0, and {_IN_PASSWORDS}"]
    prefix = str((broker().transport_options or {}).get("global_keyprefix", ""))
    if timer_prefix() != prefix:
        begin = f"the keys of the timers begin with {timer_prefix()!r}, those of the broker with {prefix!r}"
        return [f"{begin}: leave DELAYHUB['KEY_PREFIX'] out"]
    app: Any = celery_app()
    if app is None:
        return []
    return [
        f"the queue {lane} is declared without its arguments: leave it out of task_queues, or write"
        f' Queue("{lane}", queue_arguments={{"{TASK_ARGUMENT}": "{TIMER_TASK}", "{BATCH_ARGUMENT}": {TIMER_BATCH}}})'
        for lane in options().lanes
        if lane in app.amqp.queues and TASK_ARGUMENT not in (app.amqp.queues[lane].queue_arguments or {})
    ]


def server_faults(broker_client: redis.Redis, *, prefix: str) -> list[str]:
    """What keeps a worker on this broker from ever seeing the timers, a sentence for each.

    Args:
        broker_client: a client of the broker.
        prefix: what the broker's keys begin with.

    Raises RedisError where a server does not answer.
    """
    faults = settings_faults()
    if faults:
        return faults
    timers = client()
    if _server(timers) != _server(broker_client):
        return ["the timers are in another Redis server or database than the broker: leave DELAYHUB['REDIS_URL'] out"]
    if timer_prefix() != prefix:
        return [f"the keys of the timers begin with {timer_prefix()!r}, those of the broker with {prefix!r}"]
    return []


def is_served() -> bool:
    """Whether a worker takes the timers at this moment: one that does holds the loader's seat. Raises RedisError."""
    lane = patient_lanes()[0]
    return bool(lane.client.exists(lane.keys.loader))


def _brokers_pool(*, timeout_seconds: float) -> redis.ConnectionPool:
    return broker_pool(broker(), timeout_seconds=timeout_seconds)


def _server(asked: redis.Redis) -> tuple[str, int]:
    return str(asked.info("server")["run_id"]), int(asked.connection_pool.connection_kwargs.get("db") or 0)


def _other_address() -> str | None:
    """A sentence where ``REDIS_URL`` names another address than the broker's; two names of one server may be fine."""
    if not options().redis_url:
        return None
    own, brokers = address_of(timer_pool(timeout_seconds=1)), address_of(broker_pool(broker(), timeout_seconds=1))
    if own == brokers or None in (own, brokers):
        return None
    return f"DELAYHUB['REDIS_URL'] names {own} and Celery's broker {brokers}: timers in another server never fire"
