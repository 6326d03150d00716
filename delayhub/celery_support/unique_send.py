"""An app's ``send_task``, through which all its calls go: it makes those of unique tasks unique, and adds flow keys."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import redis
from celery import Celery
from celery.utils import uuid
from kombu.exceptions import OperationalError
from kombu.log import get_logger

from delayhub.celery_support.delayed_task import JOB_HEADER
from delayhub.celery_support.flow_key import headers_with
from delayhub.celery_support.idle_options import nearest_option, scheme_of
from delayhub.celery_support.task_results import announce_revoked
from delayhub.celery_support.unique import Unique
from delayhub.engine.unique import Offered, UniqueKey, Until, WhenTaken
from delayhub.errors import UniqueInCanvas, UniqueTaken
from delayhub.transport.channel import Channel
from delayhub.transport.unique_publish import LEASE_PROPERTY, UNIQUE_HEADER, UniquePublish, publishing_unique

logger = get_logger(__name__)

#: The options of a call that are ours.
CALL_OPTIONS = ("unique", "flow_key")
#: Options of a call for whose end others wait, or which names what comes after it.
CANVAS = ("chord", "group_id", "link")
#: Parameters of Celery's ``send_task`` that may be given without their names, beside the first three.
POSITIONAL = tuple(inspect.signature(Celery.send_task).parameters)[4:]
#: Attribute of an error: by it a task could not publish its own retry.
OF_RETRY = "delayhub_of_retry"
#: The task by which result backends without counters end chords.
UNLOCKS_CHORDS = "celery.chord_unlock"


class UniqueSend:
    """Takes the place of an app's ``send_task``.

    Args:
        app: the Celery app.
    """

    def __init__(self, app: Celery) -> None:
        self.app = app
        self.own = vars(app).get("send_task")
        self._is_broker_known = False
        self._names_seen: set[str] = set()

    def __call__(
        self,
        name: str,
        args: Any = None,
        kwargs: Any = None,
        *rest: Any,
        unique: Any = None,
        flow_key: Any = None,
        **options: Any,
    ) -> Any:
        """As Celery's; with two more options, ``unique``: see :class:`Unique`, and ``flow_key``: whose call it is.

        Raises:
            OptionError: the unique key, or the flow key, cannot be made.
            UniqueTaken: the key is taken, and the task says ``when_taken="raise"``.
            UniqueInCanvas: it is in a group, chord or chain, and says ``in_canvas="error"``.
        """
        if JOB_HEADER in (options.get("headers") or ()):
            # The message of a job has no arguments to make a key of, and what may run beside it its biz type says.
            return self._send(name, args, kwargs, *rest, **options)
        if not options.keys() <= self._names_seen:
            self._look_at_names(name, options)
        task = cast("Any", self.app)._tasks.get(name)
        if flow_key is not None or getattr(task, "flow_key_by", None) is not None:
            self._look_at_broker(name, "a flow key")
            options.update(zip(POSITIONAL, rest, strict=False))
            rest = ()
            headers = options.get("headers")
            options["headers"] = headers_with(
                headers, key=flow_key, name=name, task=task, args=args or (), kwargs=kwargs or {}
            )
        declared = getattr(task, "unique", None)
        inherited = (options.get("headers") or {}).get(UNIQUE_HEADER)
        if declared is None and unique is None and inherited is None:
            return self._send(name, args, kwargs, *rest, **options)
        self._look_at_broker(name, "unique=")
        options.update(zip(POSITIONAL, rest, strict=False))
        task_id = options.pop("task_id", None)
        call = task_id or uuid()
        request = current_request(self.app)
        is_same_task = request is not None and request.id == call
        headers = {one: value for one, value in (options.pop("headers", None) or {}).items() if one != UNIQUE_HEADER}
        own = Unique.of(declared)
        wanted = own if unique is None else Unique.of(unique, declared=own)
        if is_same_task and inherited is not None:  # a retry: its key is what it was, also with other arguments
            wanted, said = wanted or Unique(), inherited
        elif wanted is not None:
            said = header_of(wanted, wanted.key_of(name, task, args or (), kwargs or {}))
        else:
            return self._send(name, args, kwargs, task_id=task_id, headers=headers or None, **options)
        is_canvas = is_part_of_canvas(options, request, call)
        if is_canvas and not is_same_task and wanted.in_canvas == "error" and request is None:
            raise UniqueInCanvas(name)
        when_taken = WhenTaken.REPLACE if wanted.when_taken == "replace" else WhenTaken.REFUSE
        publish = UniquePublish(
            # Others know its id by now, and would wait for its result without end.
            when_taken=WhenTaken.CONTINUE if is_same_task else WhenTaken.WAIT if is_canvas else when_taken,
            is_canvas=is_canvas,
            continued=(request.properties or {}).get(LEASE_PROPERTY, "") if is_same_task else "",
        )
        options["headers"] = {**headers, UNIQUE_HEADER: said}
        with publishing_unique(publish):
            result = self._send(name, args, kwargs, task_id=call, **options)
        if publish.kept_id is not None:
            self._refuse(result, publish.kept_id, is_known=task_id is not None, call=call)
            if wanted.when_taken == "raise":
                raise UniqueTaken(name, said["key"], publish.kept_id)
        for offered in publish.offered:
            if offered.replaced_id not in ("", call):  # its own id is that of the message that takes the place
                self._announce(offered, options.get("producer"))
        return result

    def _look_at_names(self, name: str, options: Mapping[str, Any]) -> None:
        """Logs once for each process that a call has an option nearly named like ours; Celery sends on any name."""
        for written in sorted(options.keys() - self._names_seen):
            if meant := nearest_option(written, CALL_OPTIONS):
                logger.warning("%s= of a call of %s does nothing; the nearest option is %s=", written, name, meant)
        self._names_seen.update(options)

    def _look_at_broker(self, name: str, option: str) -> None:
        """Logs once for each process that an option of its calls does nothing, where the broker is another."""
        if self._is_broker_known:
            return
        self._is_broker_known = True
        scheme = scheme_of(self.app)
        if not scheme.startswith("delayhub"):
            logger.warning(
                "%s of %s does nothing on %s://: each call is sent. Set broker_url = delayhub://...",
                option,
                name,
                scheme,
            )

    def _send(self, *arguments: Any, **options: Any) -> Any:
        try:
            if self.own is not None:
                return self.own(*arguments, **options)
            # Looked up now: a tracing library may replace it after this was made.
            return type(self.app).send_task(self.app, *arguments, **options)
        except (OperationalError, redis.RedisError, OSError) as error:
            request = current_request(self.app)
            if request is not None and request.id == options.get("task_id"):
                vars(error)[OF_RETRY] = True
            raise

    def _refuse(self, result: Any, kept_id: str, *, is_known: bool, call: str) -> None:
        """Makes the result that of the call which has the key; no one will ever write that of this call's own id."""
        backend: Any = self.app.backend
        if not result.ignored:
            backend.remove_pending_result(result)
            if is_known and kept_id != call:
                backend.mark_as_revoked(call, f"its unique key is that of {kept_id}")
        result.id = kept_id

    def _announce(self, offered: Offered, producer: Any) -> None:
        with self.app.producer_or_acquire(producer) as open_producer:
            channel = open_producer.channel
            if isinstance(channel, Channel):
                announce_revoked(self.app, channel, offered.replaced_id, offered.replaced_payload)


def header_of(unique: Unique, key: str) -> dict[str, Any]:
    """The header that says a message's key. Raises OptionError where it cannot be one."""
    until = Until.TIME if isinstance(unique.until, int | float) else Until(unique.until)
    milliseconds = max(1, round(unique.until * 1000)) if isinstance(unique.until, int | float) else 0
    UniqueKey(key=key, until=until, milliseconds=milliseconds)
    return {"key": key, "until": until.value, "ms": milliseconds}


#: The request of a task whose process was lost, while its worker publishes the retry.
_lost: ContextVar[Any] = ContextVar("delayhub_lost", default=None)


@contextmanager
def publishing_for(request: Any) -> Iterator[None]:
    """While it lasts, calls are that task's whose process was lost: its retry has the unique key of its message."""
    token = _lost.set(request)
    try:
        yield
    finally:
        _lost.reset(token)


def current_request(app: Celery) -> Any:
    """The request of the task that this thread runs, as a worker's, or publishes for; None elsewhere."""
    task = cast("Any", app).current_worker_task
    return task.request if task is not None else _lost.get()


def is_part_of_canvas(options: Mapping[str, Any], request: Any, task_id: str) -> bool:
    """Whether others wait for a call, or follow it: in a group, a chord or a chain, or as the body of a chord."""
    if any(options.get(name) for name in CANVAS) or options.get("chain") is not None:  # [] is the last of a chain
        return True
    if request is None:
        return False
    body: Any = request.chord or {}
    return (
        request.task == UNLOCKS_CHORDS
        or (body.get("options") or {}).get("task_id") == task_id
        or _is_callback(request.callbacks, task_id)
    )


def _is_callback(callbacks: Sequence[Mapping[str, Any]] | None, task_id: str) -> bool:
    return any((one.get("options") or {}).get("task_id") == task_id for one in callbacks or ())
