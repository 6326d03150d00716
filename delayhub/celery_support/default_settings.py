"""Defaults of ours in an app's settings: above Celery's own, below all that the project sets, before or later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from celery.app import defaults
from kombu.log import get_logger

if TYPE_CHECKING:
    from celery import Celery
from functools import partial

logger = get_logger(__name__)

SCHEDULER = "delayhub.beat:Scheduler"
#: The names that settings had before Celery 4.
OLD_NAMES: Mapping[str, str] = cast("Any", defaults)._TO_OLD_KEY

#: Each line is explained, and its price said, in docs/celery/broker.md.
SAFE_SETTINGS: dict[str, Any] = {
    "task_acks_late": True,
    # Only both: with late acknowledgement alone, Celery acknowledges a task whose process was killed.
    "task_reject_on_worker_lost": True,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "broker_connection_max_retries": None,
}

#: Names that a warning lists.
MOST_NAMES = 5


def put_defaults(settings: Any, ours: Mapping[str, Any]) -> bool:
    """Puts defaults just above Celery's own, by the names that these have; False where they are there already.

    Where a project uses names of before Celery 4 (``CELERY_ACKS_LATE``), Celery names its own defaults so, too. Before
    Celery 5.7 a default under the new name would win over the project's setting under the old one.
    """
    celerys = settings.maps[-1]
    named = {name if name in celerys else OLD_NAMES[name]: value for name, value in ours.items()}
    if named in settings.defaults:
        return False
    # Celery looks through the maps in their order: the project's, those of add_defaults, and last its own defaults.
    for maps in (settings.defaults, settings.maps):
        maps.insert(len(maps) - 1, named)
    return True


def are_settings_made(app: Any) -> bool:
    """Whether the app has its settings; not while it makes the loader that reads them: to read one makes it again."""
    return bool(app.configured and "loader" in vars(app))


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


def prefer_our_beat(app: Celery) -> None:
    """Makes :class:`delayhub.beat.Scheduler` the default of ``beat_scheduler``, once the app has its settings."""
    celery = cast("Any", app)
    if are_settings_made(celery):
        prefer_ours(app)
        return
    # Celery calls it when it has read the settings. Not by add_defaults: it reads them at once, also while Celery makes
    # the loader that is to read them; and not by a signal: in Django projects the loader is there before those.
    celery._pending_defaults.append(partial(prefer_ours, app))


def prefer_ours(app: Any) -> dict[str, Any]:
    """Puts the default just above Celery's own, so that whatever the app says, before or later, counts.

    What it gives back would count more than the app's own words, so that is empty.
    """
    conf = app.conf
    if str(conf.broker_write_url or "").startswith("delayhub"):
        put_defaults(conf, {"beat_scheduler": SCHEDULER})
    return {}
