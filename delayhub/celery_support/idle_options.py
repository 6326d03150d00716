"""Options that do nothing where they stand: of tasks on another broker, or misspelt; of queues on one Redis server."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from typing import Any

from celery import Task

from delayhub.celery_support.flow_key import declared_by
from delayhub.celery_support.task_limits import faulty_limits
from delayhub.celery_support.unique import Unique
from delayhub.engine.queue_slots import SLOTS_ARGUMENT
from delayhub.errors import OptionError
from delayhub.redis_cluster.cluster_url import SCHEMES as CLUSTER_SCHEMES

#: Tasks that one sentence names.
MOST_NAMED = 5
#: What a task may say that only our broker acts on.
TASK_OPTIONS = ("unique", "max_in_flight", "key_rate_limit", "key_max_in_flight", "flow_key_by")
#: How alike a name is to the option that was meant: "flow_key" (0.84) is a mistake, "unique_on" (0.80), an option of
#: celery-singleton, is not.
LIKENESS = 0.84
#: Attributes of every task.
OF_CELERY = frozenset(dir(Task))
#: What a class statement makes of a method: no value that an option would have.
METHODS = (property, cached_property, classmethod, staticmethod)


def scheme_of(app: Any) -> str:
    """The scheme of an app's broker, such as ``redis``."""
    return str(app.connection_for_write().transport_cls)


def idle_task_options(app: Any, *, scheme: str) -> list[str]:
    """A sentence for each option of the app's tasks that does nothing, since the broker is not DelayHub's.

    Args:
        app: the Celery app.
        scheme: that of its broker.
    """
    if scheme.startswith("delayhub"):
        return []
    return [
        f"{option}= does nothing on {scheme}://, only on delayhub://: {named}"
        for option in TASK_OPTIONS
        if (named := _named(sorted(t.name for t in app.tasks.values() if getattr(t, option, None))))
    ]


def idle_slots(app: Any, *, scheme: str) -> list[str]:
    """A sentence where queues of the app propose slots, which only a Redis Cluster has."""
    if scheme in CLUSTER_SCHEMES:
        return []
    named = _named(sorted(_slotted(app)))
    return [f"{SLOTS_ARGUMENT} does nothing on one Redis server, only on a Redis Cluster: {named}"] if named else []


def faulty_task_options(app: Any) -> list[str]:
    """A sentence for each option of a task that is misspelt, makes its calls fail, or keeps workers from starting."""
    tasks = [app.tasks[name] for name in sorted(app.tasks)]
    return [about for task in tasks for about in (*_misspelt(task), *_faulty_keys(task), *_faulty_limits(app, task))]


def nearest_option(name: str, options: tuple[str, ...] = TASK_OPTIONS) -> str | None:
    """The option that was probably meant by a name which is none; None where it is nothing like any."""
    written = name.lower()
    words = sorted(written.split("_"))
    return next(
        (option for option in options if sorted(option.split("_")) == words),  # max_key_in_flight
        next(iter(get_close_matches(written, options, n=1, cutoff=LIKENESS)), None),
    )


def _misspelt(task: Any) -> Iterator[str]:
    # Celery makes an attribute of the task's class of any option that @app.task() gets.
    kinds = [kind for kind in type(task).__mro__ if issubclass(kind, Task) and kind is not Task]
    for name in sorted(set().union(*map(vars, kinds))):
        if name in TASK_OPTIONS or name in OF_CELERY or (meant := nearest_option(name)) is None:
            continue
        values = [vars(kind)[name] for kind in kinds if name in vars(kind)]
        if len(values) == 1 and not _is_method(values[0], name):  # what a class overrides is known to its base
            yield f"{name}= of {task.name} is no option and does nothing; the nearest one is {meant}="


def _is_method(value: Any, name: str) -> bool:
    return isinstance(value, METHODS) or (inspect.isfunction(value) and value.__name__ == name)


def _faulty_keys(task: Any) -> Iterator[str]:
    try:
        found = {"flow_key_by": declared_by(task), "unique": Unique.of(getattr(task, "unique", None))}
    except OptionError as error:
        yield f"each call of {task.name} fails: {error}"
        return
    by, unique = found["flow_key_by"], found["unique"]
    wanted: Mapping[str, Any] = {
        "flow_key_by": [by] if isinstance(by, str) else [],
        "unique=Unique(by=…)": unique.by or [] if isinstance(unique, Unique) else [],
    }
    try:
        known = inspect.signature(task.run).parameters.values()
    except (TypeError, ValueError):  # a function of C code may have none
        return
    if any(one.kind is one.VAR_KEYWORD for one in known):
        return
    for option, names in wanted.items():
        if missing := [name for name in names if name not in {one.name for one in known}]:
            has = ", ".join(one.name for one in known) or "none"
            yield f"each call of {task.name} fails: {option} names {', '.join(missing)}, and its arguments are {has}"


def _faulty_limits(app: Any, task: Any) -> Iterator[str]:
    if scheme_of(app).startswith("delayhub"):  # on another broker they do nothing
        for fault in faulty_limits(task, rates=not app.conf.worker_disable_rate_limits):
            yield f"no worker starts: {fault}"


def _slotted(app: Any) -> Iterator[str]:
    for queue in app.amqp.queues.values():
        if (queue.queue_arguments or {}).get(SLOTS_ARGUMENT, 1) != 1:
            yield queue.name


def _named(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
