"""What keeps a worker from running a message, and what becomes of one: it goes to the dead, and the worker goes on.

Celery takes headers and body as they are, and would end.
"""

from __future__ import annotations

import reprlib
import threading
from collections.abc import Callable, Mapping
from typing import Any

from celery import bootsteps, signals
from celery.utils.time import maybe_iso8601
from kombu.log import get_logger

from delayhub.celery_support.idle_options import scheme_of
from delayhub.clock import LAST_MS
from delayhub.transport.channel import Channel
from delayhub.transport.envelope import DUE_HEADER, is_unicode

#: Whether a value is sound, and what it should be, in words.
_Want = tuple[Callable[[Any], bool], str]


def fault_of(message: Any) -> str | None:
    """Why a message is no call of a task that a worker could make; None where it is one.

    Args:
        message: kombu's, with its headers.
    """
    try:
        payload = message.payload
    except Exception as error:  # of any serializer
        return f"its body cannot be read: {type(error).__name__}: {error}"
    if "task" in message.headers:
        return _fault_among(HEADERS, message.headers) or _fault_of_body(payload, {"args"})
    # Before protocol 2 all of it was in the body.
    if not isinstance(payload, dict) or "task" not in payload:
        return "it names no task"
    return _fault_among(HEADERS, payload) or _fault_of_body(payload, set())


def _fault_among(wants: Mapping[str, _Want], said: Mapping[str, Any]) -> str | None:
    for name, (is_sound, wanted) in wants.items():
        if not is_sound(said.get(name)):
            return f"its {name} is not {wanted}: {reprlib.repr(said.get(name))}"
    return None


def _fault_of_body(payload: Any, needed: set[str]) -> str | None:
    embed: Any
    if isinstance(payload, dict) and payload.keys() >= needed:
        args, kwargs, embed = payload.get("args", ()), payload.get("kwargs", {}), payload
    elif isinstance(payload, (list, tuple)) and len(payload) == 3:
        args, kwargs, embed = payload
    else:
        return "its body is not a list of arguments, keyword arguments and options"
    if not isinstance(args, (list, tuple)):
        return f"its arguments are not a list: {reprlib.repr(args)}"
    if not isinstance(kwargs, dict) or not all(isinstance(name, str) for name in kwargs):
        return f"its keyword arguments are not named by texts: {reprlib.repr(kwargs)}"
    if not isinstance(embed, dict | None):
        return f"its options are not an object: {reprlib.repr(embed)}"
    return _fault_among(OPTIONS, embed) if embed else None


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != "" and is_unicode(value)


def _is_text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_moment_or_none(value: Any) -> bool:
    if value is None:
        return True
    try:
        moment = maybe_iso8601(value)
    except (ValueError, TypeError, AttributeError, OverflowError):
        return False
    # Years at the ends of the calendar have no time in other zones.
    return moment is not None and 1 < moment.year < 9999


def _is_due_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, int) and 0 <= value <= LAST_MS)


def _is_seconds_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and 0 <= value <= threading.TIMEOUT_MAX)


def _is_limits(value: Any) -> bool:
    return not value or (
        isinstance(value, (list, tuple)) and len(value) == 2 and all(_is_seconds_or_none(one) for one in value)
    )


def _is_list_of(value: Any, kinds: type | tuple[type, ...]) -> bool:
    return not value or (isinstance(value, (list, tuple)) and all(isinstance(one, kinds) for one in value))


def _is_names(value: Any) -> bool:
    return _is_list_of(value, str)


def _is_mapping(value: Any) -> bool:
    return not value or isinstance(value, dict)


def _is_calls(value: Any) -> bool:
    # A signature is a dict; Celery takes the name of a task for one too.
    return _is_list_of(value, (dict, str))


#: What Celery's worker reads of a message before the task has begun, and what it wants of it.
HEADERS: dict[str, _Want] = {
    "task": (_is_name, "a name"),
    "id": (_is_name, "a name"),
    "shadow": (_is_text_or_none, "a text"),
    "eta": (_is_moment_or_none, "a date and time"),
    "expires": (_is_moment_or_none, "a date and time"),
    DUE_HEADER: (_is_due_or_none, "a time in milliseconds"),
    "timelimit": (_is_limits, "two numbers of seconds"),
    "stamped_headers": (_is_names, "a list of names"),
    "stamps": (_is_mapping, "an object"),
}

#: The same of what its body has beside the arguments: what follows when the task has ended.
OPTIONS: dict[str, _Want] = {
    "callbacks": (_is_calls, "a list of calls"),
    "errbacks": (_is_calls, "a list of calls"),
    "chain": (_is_calls, "a list of calls"),
    "chord": (_is_mapping, "a call"),
}


logger = get_logger(__name__)


class BuryUnreadable(bootsteps.Step):
    """Lets a worker put what it cannot run with the dead, with the reason, where Celery drops it or ends.

    Celery asks the consumer for the handler of its messages, and calls its ``on_…`` methods for those that it knows
    how to refuse.
    """

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        if not scheme_of(parent.app).startswith("delayhub"):
            return
        create: Callable[[], Callable[[Any], Any]] = parent.create_task_handler
        # After these the worker connects again.
        harmless = parent.connection_errors + parent.channel_errors

        def bury(message: Any, reason: str, error: Exception | None = None) -> None:
            channel: Channel = message.channel
            channel.reader.bury_delivered(message.delivery_tag, reason=f"unreadable: {reason}")
            message.reject()  # whose lease it had is done with it
            signals.task_rejected.send(sender=parent, message=message, exc=error)

        def create_task_handler() -> Callable[[Any], Any]:
            handle = create()

            def on_message(message: Any) -> Any:
                fault = fault_of(message)
                if fault is not None:
                    return bury(message, fault)
                try:
                    return handle(message)
                except harmless:
                    raise
                except Exception:
                    strike_fatal(message, harmless)
                    raise

            return on_message

        def on_decode_error(message: Any, error: Exception) -> None:
            bury(message, f"{type(error).__name__}: {error}", error)

        def on_invalid_task(body: Any, message: Any, error: Exception) -> None:
            del body
            bury(message, f"{type(error).__name__}: {error}", error)

        vars(parent).update(
            create_task_handler=create_task_handler,
            on_decode_error=on_decode_error,
            on_invalid_task=on_invalid_task,
            on_unknown_message=lambda _, message: bury(message, "it names no task"),
        )


def strike_fatal(message: Any, harmless: tuple[type[Exception], ...]) -> None:
    """Gives back, with a strike, a message that ends this worker: else it would end each that comes, without end.

    Args:
        message: kombu's.
        harmless: what the broker may raise meanwhile; its lease runs out then, which is a strike too.
    """
    said = message.headers.get("task"), message.headers.get("id")
    logger.critical("task %s[%s] ends this worker; it goes back with a strike", *said, extra={"action": "fatal"})
    if not message.acknowledged:
        message.channel.mark_process_lost(message.delivery_tag)
        message.reject_log_error(logger, harmless, requeue=True)
