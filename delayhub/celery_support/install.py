"""``install(app)``: everything a Celery app needs to run on DelayHub, in one call."""

from __future__ import annotations

import gc
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import celery
from celery import bootsteps
from celery.app.control import Control as CeleryControl
from celery.utils.imports import symbol_by_name
from celery.worker import state

from delayhub.celery_support import no_result_backend, worker_commands
from delayhub.celery_support.cold_shutdown import EndCold
from delayhub.celery_support.control import Control
from delayhub.celery_support.default_settings import keep_safe, prefer_our_beat
from delayhub.celery_support.message_fault import BuryUnreadable
from delayhub.celery_support.request import MakeOurRequests
from delayhub.celery_support.share_limits import ShareLimits
from delayhub.celery_support.startup_checks import StartupChecks
from delayhub.celery_support.task_results import announce_dead
from delayhub.celery_support.unique_send import UniqueSend
from delayhub.errors import OptionError
from delayhub.extras import check_version
from delayhub.transport import register
from delayhub.transport.hooks import HOOKS_OPTION, Hooks, name_hooks

if TYPE_CHECKING:
    from celery import Celery


#: The longest wait between two tries to reach a broker that is away, for apps that try without end
#: (``broker_connection_max_retries = None``); others would give up after fewer minutes.
RETRY_SECONDS = 2


def install(app: Celery, *, safe: bool = False) -> Celery:
    """The same app, which now knows the schemes ``delayhub://``, ``delayhubs://`` and ``delayhub-sentinel://``.

    Call it once for each app, where the app is made. Its ``app.control`` gains durable ``revoke``, and ``reschedule``,
    ``scheduled``, ``counts``, ``dead`` and ``redrive``, which need no worker; a control class of the app's own stays.

    Args:
        app: the Celery app.
        safe: whether tasks survive their workers by default (late acknowledgement and what belongs to it); settings of
            the project's own win, wherever they are made.

    Raises:
        OptionError: the app's own control class has a method that is named like one of ours.
        NotInstalled: Celery has a version that does not work.
    """
    check_version("celery", celery.__version__)
    register()
    worker_commands.register()
    no_result_backend.register()
    prefer_our_beat(app)
    app.control_cls = control_class(app.control_cls)
    app.__dict__.pop("control", None)
    app.steps["consumer"].update({StartupChecks, MakeOurRequests, EndCold, ShareLimits, BuryUnreadable, FreezeModules})
    if not isinstance(vars(app).get("_connection"), Connect):
        vars(app)["_connection"] = Connect(app)
    if not isinstance(vars(app).get("send_task"), UniqueSend):
        vars(app)["send_task"] = UniqueSend(app)
    if safe:
        keep_safe(app)
    return app


def is_installed(app: Celery) -> bool:
    """Whether :func:`install` was called for the app."""
    return StartupChecks in app.steps["consumer"]


class Connect:
    """Makes an app's connections, each with the name of the app's hooks where its broker is ours."""

    def __init__(self, app: Celery) -> None:
        self.connect = cast("Any", app)._connection

        def is_patient() -> bool:
            return app.conf.broker_connection_max_retries is None

        self.is_patient = is_patient
        self.hooks = Hooks(
            running_tags=running_tags,
            on_revoked=state.revoked.add,
            on_dead=partial(announce_dead, app),
        )
        self.name = name_hooks(str(app.main or "app"), self.hooks)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """A connection of kombu's, not open yet."""
        connection = self.connect(*arguments, **options)
        if str(connection.transport_cls).startswith("delayhub"):
            connection.transport_options[HOOKS_OPTION] = self.name
            if self.is_patient():
                # Celery waits for up to 30 s between two tries; a Redis that is back would be used that much later.
                connection.ensure_connection = partial(connection.ensure_connection, interval_max=RETRY_SECONDS)
        return connection


def control_class(known: Any) -> Any:
    """A class of controls that does what the app's class does, and what ours does.

    Args:
        known: the app's class, or its dotted name.

    Raises:
        OptionError: it has a method that is named like one of ours.
    """
    kind: type[Any] = symbol_by_name(known)
    if issubclass(kind, Control):
        return known
    if kind is CeleryControl:
        return f"{Control.__module__}:{Control.__qualname__}"
    new = {name for name in vars(Control) if not name.startswith("_") and not hasattr(CeleryControl, name)}
    if taken := sorted(name for name in new if hasattr(kind, name)):
        raise OptionError(
            f"the app's control class {kind.__qualname__} and DelayHub's both have {', '.join(taken)}: rename the"
            " app's, or derive the class from delayhub.celery_support.control.Control"
        )
    return type(kind.__name__, (Control, kind), {"__module__": __name__})


def running_tags() -> frozenset[str]:
    """Delivery tags of the tasks that this worker is running; a lost connection does not stop those.

    None at a cold shutdown: they are about to be killed, so their messages may go back at once.
    """
    if cast("bool | int | None", state.should_terminate):  # set from elsewhere
        return frozenset()
    return frozenset(request.message.delivery_tag for request in tuple(state.active_requests))


class FreezeModules(bootsteps.StartStopStep):
    """Spares a worker the full collections that stop all of its threads for a tenth of a second and longer.

    Each walks over all objects that may hold others, 58 000 of Celery's and ours and more than that of a Django
    project's, and comes again and again while there are tasks. What is frozen still goes when nothing refers to it.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._was_ready = False
        # Before a prefork pool starts: its children have this in common, and a collection would copy each page of it.
        gc.freeze()

    def start(self, parent: Any) -> None:
        """Called at the start and at every reconnect, when much may be on its way that is to be collected later."""
        if not self._was_ready:
            gc.collect()
            gc.freeze()
        self._was_ready = True
