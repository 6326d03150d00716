"""Results of tasks that no worker ran to the end, so that whatever waits for them (chords, errbacks) goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from billiard.exceptions import WorkerLostError
from celery.app.task import Context
from kombu.exceptions import KombuError
from kombu.log import get_logger
from kombu.serialization import prepare_accept_content

from delayhub.transport.channel import Channel
from delayhub.transport.envelope import Unreadable, from_payload

if TYPE_CHECKING:
    from celery import Celery

logger = get_logger(__name__)


def announce_revoked(app: Celery, channel: Channel, task_id: str, payload: bytes) -> None:
    """Stores that a task was revoked while it waited; its message is removed already."""
    try:
        raw = from_payload(payload)
        raw["properties"]["delivery_tag"] = "revoked"
        message = channel.Message(raw, channel=channel)
    except (Unreadable, KombuError, ValueError, TypeError) as error:
        logger.warning("a revoked message of task %s could not be read: %s", task_id, error)
        message = None
    request = request_of(app, message, task_id)
    app.backend.mark_as_revoked(task_id, "revoked", request=request, store_result=not request.ignore_result)


def announce_dead(app: Celery, message: Any, reason: str) -> None:
    """Stores that a task failed whose message is about to be dead: every process that ran it was lost, or its lease."""
    task_id = message.headers.get("id")
    if not task_id:
        return  # a message, but no task
    request = request_of(app, message, task_id)
    app.backend.mark_as_failure(
        task_id, WorkerLostError(reason), request=request, store_result=not request.ignore_result
    )


def request_of(app: Celery, message: Any, task_id: str) -> Context:
    """What a result backend needs to know of a task whose message never became a request.

    Args:
        app: the Celery app.
        message: kombu's message; None where it could not be read, and only the id is known.
        task_id: the task's id.
    """
    embed: dict[str, Any] = {}
    if message is not None:
        try:
            message.accept = prepare_accept_content(app.conf.accept_content)
            _, _, embed = message.decode()
        except (KombuError, ValueError, TypeError) as error:
            logger.warning("the body of task %s could not be read: %s", task_id, error)
    known = {name: embed.get(name) for name in ("chord", "chain", "errbacks")}
    # Celery looks into it before it calls an errback that takes only the id of its task.
    info = message.delivery_info if message is not None else {}
    return Context(message.headers if message else {}, **known, id=task_id, delivery_info=info or {})
