"""``publish_many``: many calls of one task in a few round trips, as the messages that Celery would publish."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, cast, overload

import celery.app.base
import celery.app.task
import kombu.messaging
import redis
from celery import signals
from celery.app.routes import MapRoute
from celery.backends.redis import RedisBackend
from celery.result import AsyncResult
from kombu.utils.functional import retry_over_time

from delayhub.celery_support.message_template import ID, Call, MessageTemplate, Unfit, new_ids
from delayhub.celery_support.unique_send import UniqueSend
from delayhub.engine import Entry
from delayhub.errors import OptionError, PublishedInPart, UniqueInCanvas, UniqueTaken
from delayhub.transport.publish_batch import collect

#: Messages that are stored at a time, all or none of them (of a queue with slots: of each slot); as many as the engine
#: takes in a call.
CHUNK = 500
#: Bytes of one call: Redis does nothing else while it stores them.
CHUNK_BYTES = 512 * 1024

#: Options of ``apply_async`` that Celery acts on for each call, or whose messages differ in more than their arguments.
ONE_BY_ONE = frozenset({"link", "link_error", "chord", "chain", "group_id", "connection", "publisher"})

#: What of Celery's retry policies says how often, and when, a chunk is tried again.
POLICY = frozenset({"max_retries", "interval_start", "interval_step", "interval_max"})

#: Errors of a call that say that its message was not stored.
NOT_SENT = (OptionError, TypeError, UniqueInCanvas, UniqueTaken)


class Published(Sequence[str]):
    """The ids of tasks that were published, in the order of their arguments."""

    def __init__(self, ids: Sequence[str], *, task: Any, is_ignored: bool) -> None:
        self.ids = tuple(ids)
        self._task = task
        self._is_ignored = is_ignored

    def results(self) -> list[AsyncResult[Any]]:
        """A result for each task, made now."""
        found = [self._task.AsyncResult(task_id) for task_id in self.ids]
        for result in found:
            result.ignored = self._is_ignored
        return found

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...

    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        return self.ids[at]

    def __len__(self) -> int:
        return len(self.ids)


class Prepared(NamedTuple):
    """What many messages of one task are made of, and where they go."""

    template: MessageTemplate
    queue: str


def publish_many(
    task: Any,
    args: Iterable[Sequence[Any] | Mapping[str, Any]],
    *,
    reprs: bool = True,
    add_to_parent: bool = True,
    **options: Any,
) -> Published:
    """Publishes one call of a task for each element of ``args``; gives back their ids.

    The messages are those of ``apply_async``: queue, priority, due time, ``expires``, the root and the parent of the
    task that publishes them, the check of their arguments. A countdown is reckoned once, so all are due at one moment.
    It goes one by one, as ``apply_async`` does, where something acts on each publish: receivers of Celery's publish
    signals, ``task_send_sent_event``, an ``apply_async`` or ``shadow_name`` of the project's own or of a tracing
    library, a producer that such a library has wrapped, unique tasks, flow keys that are made of arguments,
    ``task_always_eager``, routes that are functions, links, another serializer, compression, another broker.

    Args:
        task: a Celery task.
        args: for each call its positional arguments; or a mapping, its keyword arguments.
        reprs: whether messages carry their arguments as text for people too (``argsrepr``), as Celery's do.
        add_to_parent: whether a task that publishes them has them as its children.
        options: the other options of ``apply_async``, without ``task_id``.

    Raises:
        TypeError: the task cannot be called with the arguments; nothing is published.
        EncodeError: an argument cannot be JSON; nothing is published.
        OperationalError: the broker cannot be reached; nothing is published.
        PublishedInPart: an error came when something was, or may have been published; it says how far it came, and
            its ``__cause__`` is the error.
    """
    if "task_id" in options:
        raise TypeError("publish_many() makes the ids by itself: it takes no task_id")
    app = task._get_app()
    task = app.tasks[task.name]  # it may have been a proxy of it
    is_ignored = bool(options.get("ignore_result", task.ignore_result))
    done: list[str] = []
    calls = map(call_of, args)
    for first in calls:
        with app.producer_or_acquire(options.pop("producer", None)) as producer:
            prepared = prepare(task, first, producer=producer, reprs=reprs, is_ignored=is_ignored, options=options)
            if prepared is None:
                one_by_one(task, chain([first], calls), done=done, options={**options, "producer": producer})
            else:
                in_chunks(task, chain([first], calls), prepared, producer=producer, done=done, options=options)
    published = Published(done, task=task, is_ignored=is_ignored)
    parent = app.current_worker_task if add_to_parent and done else None
    if parent:
        for result in published.results():
            parent.add_trail(result)
    return published


def call_of(args: Sequence[Any] | Mapping[str, Any]) -> Call:
    """A call by positional or by keyword arguments. Raises TypeError for what is neither."""
    if isinstance(args, Mapping):
        return Call((), args)
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"the arguments of a call are a list, a tuple or a mapping, got {args!r}")
    return Call(args or (), {})


# ---------------------------------------------------------------- the ways


def prepare(
    task: Any, first: Call, *, producer: Any, reprs: bool, is_ignored: bool, options: Mapping[str, Any]
) -> Prepared | None:
    """What the messages are made of; None where they have to be published one by one.

    Celery and kombu publish the first call themselves; only, it is not stored.
    """
    if acts_on_each(task, producer, options):
        return None
    check(task, first)
    with collect() as collected:
        # A result backend would listen for the result of each id; results that are asked for later do that then.
        own = {**options, "task_id": ID, "producer": producer, "ignore_result": True, "add_to_parent": False}
        task.apply_async(first.args, dict(first.kwargs), **own)
    queue, message = collected[0] if len(collected) == 1 else (None, {})
    if queue is None:
        return None
    message["headers"]["ignore_result"] = is_ignored
    try:
        template = MessageTemplate(message, first, channel=producer.channel, has_reprs=reprs)
    except Unfit:
        return None
    backend = task.app.backend
    if not is_ignored and not isinstance(backend, RedisBackend):
        backend.on_task_call(producer, ID)  # rpc:// makes the queue of its replies then
    return Prepared(template, queue)


def in_chunks(
    task: Any, calls: Iterable[Call], prepared: Prepared, *, producer: Any, done: list[str], options: Mapping[str, Any]
) -> None:
    """Stores a message for each call, and notes the ids of those that are stored."""
    retry = options.get("retry")
    policy = {**task.app.conf.task_publish_retry_policy, **(options.get("retry_policy") or {})}
    if not (task.app.conf.task_publish_retry if retry is None else retry):
        policy["max_retries"] = 0
    limits: dict[str, Any] = {name: value for name, value in policy.items() if name in POLICY}
    store, catch = producer.channel.store, (redis.ConnectionError, redis.TimeoutError)
    chunks = chunked(task, calls, prepared.template)
    while True:
        try:
            entries = next(chunks, None)
        except Exception as error:
            if done:
                raise PublishedInPart(done, ()) from error
            raise
        if entries is None:
            return
        ids = [entry.id for entry in entries]
        try:
            retry_over_time(store, catch, args=[prepared.queue, entries], **limits)
        except Exception as error:
            raise PublishedInPart(done, ids) from error
        done += ids


def chunked(task: Any, calls: Iterable[Call], template: MessageTemplate) -> Iterator[list[Entry]]:
    """The calls' entries, in lists that one call of Redis takes. Raises TypeError for a call that cannot work."""
    entries: list[Entry] = []
    size = 0
    ids: list[str] = []
    for call in calls:
        check(task, call)
        ids = ids or new_ids(CHUNK)
        entry = template.entry(ids.pop(), call)
        if entries and (len(entries) == CHUNK or size + len(entry.payload) > CHUNK_BYTES):
            yield entries
            entries, size = [], 0
        entries.append(entry)
        size += len(entry.payload)
    yield entries


def one_by_one(task: Any, calls: Iterable[Call], *, done: list[str], options: Mapping[str, Any]) -> None:
    """Publishes each call as Celery does, and notes the ids."""
    iterator = iter(calls)
    while True:
        task_id = ""
        try:
            if (call := next(iterator, None)) is None:
                return
            (task_id,) = new_ids(1)
            result = task.apply_async(call.args, dict(call.kwargs), task_id=task_id, add_to_parent=False, **options)
        except Exception as error:
            if done:
                is_sent = task_id and not isinstance(error, NOT_SENT)
                raise PublishedInPart(done, [task_id] if is_sent else []) from error
            raise
        done.append(result.id)  # of a unique task, that of an earlier call, maybe


# ---------------------------------------------------------------- conditions


def check(task: Any, call: Call) -> None:
    """Raises TypeError where the task cannot be called with these arguments."""
    if task.typing:
        task.__header__(*call.args, **call.kwargs)


def acts_on_each(task: Any, producer: Any, options: Mapping[str, Any]) -> bool:
    """Whether something of the project, of a library or of Celery has to be called for each publish."""
    app = task.app
    conf = app.conf
    if not str(producer.connection.transport_cls).startswith("delayhub") or conf.task_protocol != 2:
        return True
    if makes_keys(task, options):
        return True
    if conf.task_always_eager or conf.task_send_sent_event or any(options.get(name) for name in ONE_BY_ONE):
        return True
    published = (signals.before_task_publish, signals.after_task_publish, cast("Any", signals).task_sent)
    if any(signal.has_listeners() for signal in published):
        return True
    if getattr(task, "_dump_pydantic_arguments", None) is not None or task.__v2_compat__:
        return True
    own = (
        is_celerys(task, "apply_async", celery.app.task)
        and is_celerys(task, "shadow_name", celery.app.task)
        and (is_celerys(app, "send_task", celery.app.base) or is_ours(app))
        and is_celerys(producer, "publish", kombu.messaging)
        and is_celerys(producer, "_publish", kombu.messaging)
    )
    return not own or any(type(route) is not MapRoute for route in app.amqp.router.routes)


def makes_keys(task: Any, options: Mapping[str, Any]) -> bool:
    """Whether each call has a key that is made of its arguments: a unique key, or a flow key."""
    by = getattr(task, "flow_key_by", None) if options.get("flow_key") is None else None
    return by is not None or bool(getattr(task, "unique", None) or options.get("unique"))


def is_ours(app: Any) -> bool:
    """Whether an app's ``send_task`` is ours, before Celery's."""
    found = vars(app).get("send_task")
    return isinstance(found, UniqueSend) and found.own is None and is_celerys(type(app), "send_task", celery.app.base)


def is_celerys(owner: object, name: str, module: ModuleType) -> bool:
    """Return whether an object's method is the module's, neither overridden nor wrapped (by a tracing library)."""
    found = inspect.getattr_static(owner, name)
    return (
        isinstance(found, FunctionType)
        and not hasattr(found, "__wrapped__")
        and found.__code__.co_filename == module.__file__
    )
