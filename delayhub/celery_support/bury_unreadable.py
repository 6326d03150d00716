"""BuryUnreadable: a worker puts messages with the dead that it cannot run, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import bootsteps, signals

from delayhub.celery_support.idle_options import scheme_of
from delayhub.celery_support.message_fault import fault_of
from delayhub.transport.channel import Channel


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

        def bury(message: Any, reason: str, error: Exception | None = None) -> None:
            channel: Channel = message.channel
            channel.reader.bury_delivered(message.delivery_tag, reason=f"unreadable: {reason}")
            message.reject()  # whose lease it had is done with it
            signals.task_rejected.send(sender=parent, message=message, exc=error)

        def create_task_handler() -> Callable[[Any], Any]:
            handle = create()

            def on_message(message: Any) -> Any:
                fault = fault_of(message)
                return handle(message) if fault is None else bury(message, fault)

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
