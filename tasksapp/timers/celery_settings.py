"""What in a project's Celery app keeps jobs from running, or surprises: reported by ``manage.py check``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from sys import modules
from typing import Any

from celery import Celery, _state
from django.apps import AppConfig, apps
from django.core import checks
from django.core.checks import CheckMessage, Error

from delayhub.celery_support.idle_options import faulty_task_options, idle_slots, idle_task_options, scheme_of
from delayhub.celery_support.install import is_installed
from tasksapp.timers.broker import active_apps, celery_app


def check_celery_app(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """What is wrong with this process' Celery app, or with its having none or several."""
    app, made = celery_app(), active_apps()
    if app is not None:
        return [*_several(app, among=made), *_about(_workers_app(app))]
    if made:
        return [
            Error(
                f"the Celery app {made[0].main!r} has no broker, so its workers look for RabbitMQ",
                hint='Write app.config_from_object("django.conf:settings", namespace="CELERY") where the app is made,'
                " and CELERY_BROKER_URL = 'delayhub://host:6379/0' in the settings.",
                id="delayhub.E013",
            )
        ]
    return [
        checks.Warning(
            "this process knows no Celery app: jobs can be created, but delay() and apply_async() find no broker",
            hint="Write `from shop.celery import app as celery_app` in your project's __init__.py, with its own name.",
            id="delayhub.W020",
        )
    ]


def check_patience(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning where workers end when Redis is away for long, although they deliver jobs meanwhile."""
    app = celery_app()
    if app is None or app.conf.broker_connection_max_retries is None:
        return []
    return [
        checks.Warning(
            f"broker_connection_max_retries is {app.conf.broker_connection_max_retries}:"
            " a worker that has tried so often to reach a Redis that is away ends, and delivers nothing any more",
            hint="Set CELERY_BROKER_CONNECTION_MAX_RETRIES = None; workers then also try every two seconds.",
            id="delayhub.W023",
        )
    ]


def check_task_modules(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning for each module of delayed tasks that workers do not import: they would refuse its jobs."""
    found = celery_app()
    if found is None or _Importing.now:
        return []
    app: Any = _workers_app(found)
    if app.loader.worker_initialized:  # a worker's start comes here from its own import of these modules
        return []
    _Importing.now = True  # Celery runs all checks when it imports them
    try:
        app.loader.import_default_modules()
    except Exception as error:
        return [
            checks.Warning(
                f"the modules of the tasks cannot be imported, so no worker starts: {error!r}", id="delayhub.W021"
            )
        ]
    finally:
        _Importing.now = False
    return [
        checks.Warning(
            f"no worker imports {name}, so none runs its delayed tasks",
            hint="Write app.autodiscover_tasks() where the Celery app is made.",
            id="delayhub.W021",
        )
        for name in _modules_of_delayed_tasks()
        if name not in modules
    ]


def check_idle_options(app_configs: Sequence[AppConfig] | None = None, **_: Any) -> list[CheckMessage]:
    """A warning for each option of tasks and queues that does nothing, or fails; the check above imported them."""
    found = celery_app()
    if found is None or _Importing.now:
        return []
    app = _workers_app(found)
    try:
        scheme = scheme_of(app)
        of_tasks, of_queues = idle_task_options(app, scheme=scheme), idle_slots(app, scheme=scheme)
        faulty = faulty_task_options(app)
    except Exception:  # other checks name what is wrong with the app, and workers do
        return []
    hint = "Set CELERY_BROKER_URL = 'delayhub://host:6379/0', or leave the option out."
    faulty_hint = "Correct it where the task is declared, or in CELERY_TASK_ANNOTATIONS."
    queues_hint = "Leave the argument out, or use delayhub-cluster:// with a Redis Cluster."
    return [
        *(checks.Warning(about, hint=hint, id="delayhub.W027") for about in of_tasks),
        *(checks.Warning(about, hint=queues_hint, id="delayhub.W028") for about in of_queues),
        *(checks.Warning(about, hint=faulty_hint, id="delayhub.W029") for about in faulty),
    ]


class _Importing:
    """Whether the modules of the tasks are being imported by a check."""

    now = False


def _workers_app(app: Celery) -> Celery:
    """The one app that DelayHub is installed in, where the process has one; else the given one."""
    ours = [made for made in active_apps() if is_installed(made)]
    return ours[0] if len(ours) == 1 and not is_installed(app) else app


def _several(app: Celery, *, among: Sequence[Celery]) -> Iterator[CheckMessage]:
    state: Any = _state
    elsewhere = [other for other in among if other.conf.broker_write_url not in (None, app.conf.broker_write_url)]
    # The current app is this thread's; all others get the default one.
    if elsewhere and not (is_installed(app) and state.default_app is app):
        names = ", ".join(sorted(repr(one.main) for one in [app, *elsewhere]))
        yield Error(
            f"the Celery apps {names} have different brokers, and threads may take either for the timers",
            hint="Below the last of them, write app.set_default() and app.set_current() for the one whose workers run"
            " the jobs.",
            id="delayhub.E017",
        )


def _about(app: Celery) -> Iterator[CheckMessage]:
    conf = app.conf
    if not is_installed(app):
        yield Error(
            f"DelayHub is not installed in the Celery app {app.main!r}: workers check nothing, and revoke() is lost",
            hint="Write `import delayhub` and `delayhub.install(app)` below the line that makes the app.",
            id="delayhub.E014",
        )
    if not {"json", "application/json"} & set(conf.accept_content):
        yield Error(
            f"timers are messages in JSON, which accept_content = {list(conf.accept_content)!r} refuses",
            hint="Add 'json' to CELERY_ACCEPT_CONTENT.",
            id="delayhub.E015",
        )
    try:
        app.timezone  # noqa: B018  reading it finds the zone
    except (LookupError, ValueError, OSError) as error:
        yield Error(
            f"Celery's time zone {conf.timezone!r} is not known, so no worker starts: {error}",
            hint="Leave CELERY_TIMEZONE out, or name a zone such as 'Europe/Berlin'.",
            id="delayhub.E016",
        )
    if conf.task_always_eager:
        yield checks.Warning(
            "task_always_eager has no effect on jobs: schedule() still waits for its time and a worker",
            hint="Leave CELERY_TASK_ALWAYS_EAGER out; tests run jobs with delayhub.testing (docs/jobs/testing.md).",
            id="delayhub.W022",
        )


def _modules_of_delayed_tasks() -> Iterator[str]:
    """The ``tasks`` modules of the installed apps that hold delayed tasks, by their text: nothing is imported."""
    for config in apps.get_app_configs():
        spec = find_spec(f"{config.name}.tasks")
        if spec is None or spec.origin is None or config.name == "tasksapp":
            continue
        source = Path(spec.origin)
        if source.suffix == ".py" and b"@delayed_task" in source.read_bytes():
            yield spec.name
