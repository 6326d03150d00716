"""BuryUnreadable: a worker puts messages with the dead that it cannot run, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import bootsteps, signals
from kombu.log import get_logger

from delayhub.celery_support.idle_options import scheme_of
from delayhub.celery_support.message_fault import fault_of
from delayhub.transport.channel import Channel

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
