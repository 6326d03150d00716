"""The scheduler that an app's beats use unless the app names one: ours, where the broker is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from celery import Celery

SCHEDULER = "delayhub.beat:Scheduler"


def register(app: Celery) -> None:
    """Makes :class:`delayhub.beat.Scheduler` the default of ``beat_scheduler``, once the app has its settings."""
    anyapp = cast("Any", app)
    anyapp.on_after_configure.connect(prefer_ours, weak=False, dispatch_uid="delayhub.beat")
    if anyapp.configured:
        prefer_ours(app)


def prefer_ours(sender: Any, **_: Any) -> None:
    """Puts the default just above Celery's own, so that whatever the app says, before or later, counts."""
    conf = sender.conf
    is_ours = str(conf.broker_write_url or "").startswith("delayhub")
    if is_ours and not any(default.get("beat_scheduler") == SCHEDULER for default in conf.defaults):
        ours = {"beat_scheduler": SCHEDULER}
        conf.defaults.insert(len(conf.defaults) - 1, ours)
        conf.maps.insert(len(conf.maps) - 1, ours)
