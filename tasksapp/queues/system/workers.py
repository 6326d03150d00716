"""The workers, as their heartbeats describe them."""

from __future__ import annotations

from django.utils.translation import gettext as _

from tasksapp.queues.heartbeats import read_workers
from tasksapp.queues.system.section import Column, Section, Value


def workers_section() -> Section:
    """A row for each worker that wrote within 15 seconds. Raises what Redis raises."""
    rows: list[list[Value]] = [
        [
            worker.name,
            f"{worker.host}:{worker.pid}",
            worker.version,
            f"{worker.pool} x {worker.concurrency}",
            list(worker.queues),
            worker.running_count,
            [f"{task.name} {task.id}" for task in worker.running[:5]],
            worker.open_callbacks,
            worker.last_claim_at,
            worker.started_at,
            worker.seen_at,
            worker.is_loader,
        ]
        for worker in read_workers()
    ]
    return Section(
        key="workers",
        title=_("Workers"),
        columns=[
            Column("name", _("Worker")),
            Column("process", _("Host and process")),
            Column("version", _("Version")),
            Column("pool", _("Pool")),
            Column("queues", _("Takes")),
            Column("running", _("Runs now")),
            Column("tasks", _("What runs")),
            Column("open_callbacks", _("Open callbacks")),
            Column("last_claim_at", _("Took jobs last")),
            Column("started_at", _("Started")),
            Column("seen_at", _("Seen")),
            Column("is_loader", _("loader")),
        ],
        rows=rows,
        empty=_("No worker has written a heartbeat within the last 15 seconds."),
        notes=[_("Workers of a Celery app without Django and DelayHub's app write none, so they are not seen here.")],
    )
