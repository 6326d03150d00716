"""What a worker checks before it takes tasks: the Redis server, the timer queues, messages of another transport."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import redis
from celery import bootsteps
from celery.exceptions import WorkerShutdown
from celery.platforms import EX_FAILURE
from kombu.log import get_logger
from kombu.transport.redis import Channel as KombuChannel
from redis.exceptions import NoPermissionError

from delayhub.celery_support.autoscaling import keep_fixed_size
from delayhub.celery_support.delayed_task import DelayedTask
from delayhub.celery_support.idle_options import faulty_task_options, idle_slots, idle_task_options, scheme_of
from delayhub.celery_support.job_store import find_job_store
from delayhub.engine import DelayQueue, EngineOptions
from delayhub.engine.entry import text
from delayhub.engine.fitness import examine
from delayhub.engine.keys import directory
from delayhub.errors import JobStoreMissing, OptionError, RedisUnfit
from delayhub.redis_cluster.cluster_url import SCHEMES as CLUSTER_SCHEMES
from delayhub.transport.broker_pool import broker_channel
from delayhub.transport.channel import Channel
from delayhub.transport.kombu_migration import KombuBroker
from delayhub.transport.options import TransportOptions
from delayhub.transport.timer_queue import TASK_ARGUMENT

logger = get_logger(__name__)

#: Keys among which a worker looks for kombu's bindings before it starts, a tenth of a second or two; ``delayhub check``
#: looks through all.
MOST_KEYS = 200_000


class StartupChecks(bootsteps.StartStopStep):
    """Ends the worker, and logs why, where tasks would be lost; logs a warning where they might be."""

    requires = ("celery.worker.consumer.connection:Connection",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._has_started = False
        connection = parent.app.connection_for_read()
        try:
            if str(connection.transport_cls).startswith("delayhub"):
                TransportOptions.of(connection.transport_options)
            if str(connection.transport_cls) in CLUSTER_SCHEMES:
                pool = broker_channel(connection, timeout_seconds=1.0).pool
                with suppress(redis.RedisError, OSError):  # connecting comes later, and again
                    pool.map.learn()
                pool.disconnect()
        except OptionError as error:
            self._end(str(error))

    def start(self, parent: Any) -> None:
        """Called at the start and at every reconnect, when the server may be another one.

        Raises:
            redis.ConnectionError: at a reconnect it is a replica, amid a failover maybe: Celery connects again.
        """
        channel, scheme = parent.connection.default_channel, scheme_of(parent.app)
        idle = [*idle_task_options(parent.app, scheme=scheme), *idle_slots(parent.app, scheme=scheme)]
        for about in [*faulty_task_options(parent.app), *idle]:
            logger.warning("%s", about, extra={"action": "startup"})
        if not isinstance(channel, Channel):
            self._look_for_our_messages(channel)
            return
        if fixed := keep_fixed_size(parent):
            logger.warning("%s", fixed, extra={"action": "startup"})
        fitness = examine(channel.publisher)
        for warning in fitness.warnings:
            logger.warning("About this Redis server: %s", warning, extra={"action": "startup"})
        try:
            fitness.require()
        except RedisUnfit as unfit:
            if channel.options.check_redis:
                if self._has_started and fitness.is_replica:
                    raise redis.ConnectionError(str(unfit)) from unfit
                self._end(str(unfit))
            logger.warning("%s", unfit, extra={"action": "startup"})
        if parent.app.conf.task_protocol != 2:
            self._end("task_protocol is 1, whose messages hide their eta from the broker: set it to 2")
        for fault in [*job_store_faults(parent.app), *timer_task_faults(parent.app)]:
            self._end(fault)
        channel.unbind_lanes(parent.app.amqp.default_exchange.name)
        self._look_at_jobs(parent.app, channel)
        self._look_for_kombus_messages(channel, list(parent.app.amqp.queues))
        self._has_started = True

    def _look_at_jobs(self, app: Any, channel: Channel) -> None:
        store = find_job_store()
        timer_queues = [q for q in app.amqp.queues.consume_from.values() if TASK_ARGUMENT in (q.queue_arguments or {})]
        if store is None or not timer_queues:
            return
        try:
            faults = store.faults(channel.publisher, prefix=channel.options.key_prefix)
        except (redis.RedisError, OSError) as error:
            logger.warning("The timers' Redis does not answer: %s", error, extra={"action": "startup"})
            return
        for fault in faults:
            self._end(f"no job could run: {fault}")

    def _look_for_kombus_messages(self, channel: Channel, queues: list[str]) -> None:
        broker = KombuBroker(channel)
        try:
            left = broker.count(sorted({*queues, *broker.bound_queues(most_keys=MOST_KEYS)}))
        except NoPermissionError:
            logger.info("Messages of kombu's own transport were not looked for: the user may not read its keys")
            return
        if left.total:
            logger.warning(
                "%d messages (and %d held by workers) of kombu's own Redis transport wait here; move them over with: "
                "celery -A ... delayhub import-redis",
                left.ready,
                left.unacked,
                extra={"action": "startup"},
            )

    def _look_for_our_messages(self, channel: Any) -> None:
        if not isinstance(channel, KombuChannel):
            return
        try:
            left = messages_beside(channel)
        except redis.ResponseError:  # its user may not read our keys
            return
        if left:
            logger.warning(
                "%d tasks of delayhub:// wait in this Redis. This worker, whose broker is redis://, does not see them: "
                "workers with broker_url = delayhub://... run them",
                left,
                extra={"action": "startup"},
            )

    def _end(self, fault: str) -> None:
        logger.critical("This worker does not start: %s", fault, extra={"action": "startup"})
        raise WorkerShutdown(EX_FAILURE)


def messages_beside(channel: KombuChannel) -> int:
    """How many messages of ours are in the Redis of a channel of kombu's own transport, the dead left out."""
    client: Any = redis.Redis(connection_pool=channel.pool)
    prefix = channel.global_keyprefix or ""
    queues = [text(name) for name in client.smembers(directory(prefix))]
    counts = [DelayQueue(client, name, options=EngineOptions(key_prefix=prefix)).count() for name in queues]
    return sum(found.waiting + found.ready + found.parked + found.leased for found in counts)


def job_store_faults(app: Any) -> list[str]:
    """A sentence where the worker has delayed tasks, but no app that keeps their jobs."""
    delayed = sorted(task.name for task in app.tasks.values() if isinstance(task, DelayedTask))
    if not delayed or find_job_store() is not None:
        return []
    return [f"{', '.join(delayed)} cannot run jobs: {JobStoreMissing.__doc__}"]


def timer_task_faults(app: Any) -> list[str]:
    """What is wrong with the tasks of this worker's timer queues: a killed worker would lose its timers."""
    faults = []
    for queue in app.amqp.queues.consume_from.values():
        name = (queue.queue_arguments or {}).get(TASK_ARGUMENT)
        if name is None:
            continue
        task = app.tasks.get(name)
        if task is None:
            faults.append(f"the timer queue {queue.name} names the task {name}, which is not registered")
            continue
        if not task.acks_late or task.acks_on_failure_or_timeout:
            needs = "acks_late=True and acks_on_failure_or_timeout=False"
            faults.append(f"the task {name} of the timer queue {queue.name} needs {needs}")
        if not {"json", "application/json"} & set(app.conf.accept_content):
            faults.append(f"the timer queue {queue.name} needs json in accept_content")
    return faults
