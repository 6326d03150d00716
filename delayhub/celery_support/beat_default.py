"""The scheduler that an app's beats use unless the app names one: ours, where the broker is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from delayhub.celery_support.default_settings import are_settings_made, put_defaults

if TYPE_CHECKING:
    from celery import Celery

SCHEDULER = "delayhub.beat:Scheduler"


def register(app: Celery) -> None:
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
