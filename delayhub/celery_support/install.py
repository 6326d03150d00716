"""``install(app)``: everything a Celery app needs to run on DelayHub, in one call."""

from __future__ import annotations

from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, cast

from celery.worker import state

from delayhub.celery_support import no_result_backend, worker_revoke
from delayhub.celery_support.request import MakeOurRequests
from delayhub.celery_support.startup_checks import StartupChecks
from delayhub.celery_support.task_results import announce_dead
from delayhub.transport import register
from delayhub.transport.hooks import hooks

if TYPE_CHECKING:
    from celery import Celery


def install(app: Celery) -> Celery:
    """The same app, which now knows the schemes ``delayhub://``, ``delayhubs://`` and ``delayhub-sentinel://``.

    Call it once, where the app is made. Its ``app.control`` gains durable ``revoke``, and ``reschedule``,
    ``scheduled``, ``counts``, ``dead`` and ``redrive``, which need no worker.
    """
    register()
    worker_revoke.register()
    no_result_backend.register()
    app.control_cls = "delayhub.celery_support.control:Control"
    app.__dict__.pop("control", None)
    app.steps["consumer"].update({StartupChecks, MakeOurRequests})

    def zone() -> tzinfo:
        found: tzinfo = app.timezone
        return found

    hooks.naive_zone = zone
    hooks.running_tags = running_tags
    hooks.on_revoked = state.revoked.add
    hooks.on_dead = partial(announce_dead, app)
    return app


def is_installed(app: Celery) -> bool:
    """Whether :func:`install` was called for the app."""
    return StartupChecks in app.steps["consumer"]


def running_tags() -> frozenset[str]:
    """Delivery tags of the tasks that this worker is running; a lost connection does not stop those.

    None at a cold shutdown: they are about to be killed, so their messages may go back at once.
    """
    if cast("bool | int | None", state.should_terminate):  # set from elsewhere
        return frozenset()
    return frozenset(request.message.delivery_tag for request in tuple(state.active_requests))
