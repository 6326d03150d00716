"""Moves what kombu's own Redis transport keeps over to a broker of ours, and what its workers know to be revoked."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from delayhub.celery_support.kombu_workers import kombu_workers
from delayhub.celery_support.revocation import MOVING_TOMBSTONE, RevokeMoved, revoke_waiting
from delayhub.errors import OldWorkersAlive
from delayhub.transport.channel import Channel
from delayhub.transport.kombu_migration import KombuBroker

if TYPE_CHECKING:
    from celery import Celery

#: Not kombu's, which says nothing in a command of a project that has set up no logging.
logger = logging.getLogger(__name__)

REVOKES_UNKNOWN = (
    "No worker of the old broker answers, so DelayHub does not know what was revoked there. Tasks that were revoked"
    " after the last import that a worker answered will run: revoke them again"
)


def move_over(
    app: Celery,
    channel: Channel,
    stock: KombuBroker,
    *,
    queues: Sequence[str],
    known: Sequence[str],
    source: str | None,
    ready_only: bool,
) -> int:
    """Return how many messages were moved; what old workers say was revoked stays so, for a day also for later imports.

    Args:
        app: the Celery app.
        channel: a channel of our broker.
        stock: the old broker.
        queues: those to move.
        known: all that are known on either broker: what old workers hold may go to any.
        source: the old broker's URL; None for the Redis of ours.
        ready_only: leave to old workers what they hold.

    Raises:
        OldWorkersAlive: old workers are up, and what they hold was to be moved.
        ImportRunning: another import has not ended.
    """
    workers = kombu_workers(app, source)
    if workers and not ready_only:
        raise OldWorkersAlive(sorted(workers))
    everywhere = sorted({*queues, *known})
    revoked = sorted({task_id for ids in workers.values() for task_id in ids})
    revoke_waiting(app, channel, everywhere, revoked, stay=MOVING_TOMBSTONE)
    moved = stock.move(queues, channel, held=not ready_only, on_stored=RevokeMoved(app, channel))
    if moved and not workers:
        logger.warning(REVOKES_UNKNOWN, extra={"action": "import"})
    return moved
