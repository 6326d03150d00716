"""Settings under which plain Celery tasks survive their workers; what a project sets itself goes before them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kombu.log import get_logger

from delayhub.celery_support.default_settings import are_settings_made, put_defaults

if TYPE_CHECKING:
    from celery import Celery

logger = get_logger(__name__)

#: Each line is explained, and its price said, in docs/celery.md.
SAFE_SETTINGS: dict[str, Any] = {
    "task_acks_late": True,
    # Only both: with late acknowledgement alone, Celery acknowledges a task whose process was killed.
    "task_reject_on_worker_lost": True,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "broker_connection_max_retries": None,
}

#: Names that a warning lists.
MOST_NAMES = 5


def keep_safe(app: Celery) -> None:
    """Puts the safe settings between Celery's defaults and all that the project sets, before this call or after it."""

    def insert(*, source: Any, **_: Any) -> None:
        if put_defaults(source, SAFE_SETTINGS):
            warn_of_bound_tasks(app, source)

    # Celery makes its settings when one is first read, and again after a late config_from_object.
    app.on_after_configure.connect(insert, weak=False, dispatch_uid="delayhub.safe_settings")
    if are_settings_made(app):
        insert(source=app.conf)


def warn_of_bound_tasks(app: Celery, settings: Any) -> None:
    """Logs the tasks that took over Celery's own defaults before ours were there; they keep them."""
    known = cast("Any", app)._tasks  # `app.tasks` would bind those that are not yet
    names = sorted(
        name
        for name, task in known.items()
        if not name.startswith("celery.") and task.__bound__ and not (task.acks_late and task.reject_on_worker_lost)
    )
    if names and settings["task_acks_late"] and settings["task_reject_on_worker_lost"]:
        logger.warning(
            "Tasks that were made before the safe settings were there keep Celery's early acknowledgement (%d: %s%s):"
            " call install(app, safe=True) where the app is made",
            len(names),
            ", ".join(names[:MOST_NAMES]),
            " …" if len(names) > MOST_NAMES else "",
            extra={"action": "startup"},
        )
