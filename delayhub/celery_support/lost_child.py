"""Tasks that kill the process they run in: Celery puts them back for ever, a strike each time ends it."""

from __future__ import annotations

from typing import Any, cast

from celery import bootsteps
from celery.exceptions import Reject
from celery.utils.imports import symbol_by_name
from celery.worker import state
from celery.worker.request import Request

from delayhub.transport.channel import Channel


class BlameLostChildren(bootsteps.Step):
    """Lets every task of a worker make requests that tell the transport of lost children.

    A step because the consumer makes its steps once all tasks are known, and before it asks any for its request class.
    """

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        for task in parent.app.tasks.values():
            task.Request = blaming(cast("type[Request]", symbol_by_name(task.Request)))


class BlamingRequest(Request):
    """A request whose message gets a strike where Celery requeues it because its process was lost or timed out."""

    _loses_child = False

    def on_failure(self, exc_info: Any, *args: Any, **options: Any) -> Any:
        """Called with what the task raised, or with what became of its process."""
        raised = getattr(exc_info.exception, "exc", exc_info.exception)
        # A task that raises Reject wants to come back; everything else that ends in a requeue is a lost process.
        self._loses_child = not isinstance(raised, Reject)
        return super().on_failure(exc_info, *args, **options)

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """Called when a time limit is over; a hard one kills the process."""
        self._loses_child = not soft
        super().on_timeout(soft, timeout)

    def reject(self, requeue: bool = False) -> None:
        """Gives the message back, or drops it."""
        # At a cold shutdown the worker kills its children by itself.
        cold = cast("bool | int | None", state.should_terminate)
        if requeue and self._loses_child and not cold and isinstance(self.message.channel, Channel):
            self.message.channel.blame(self.message.delivery_tag)
        super().reject(requeue)


def blaming(kind: type[Request]) -> type[Request]:
    """A class of requests that does what this one does, and blames too."""
    if issubclass(kind, BlamingRequest):
        return kind
    if kind is Request:
        return BlamingRequest
    return type(kind.__name__, (BlamingRequest, kind), {"__module__": __name__})
