"""What the tables of Celery's queues show, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from tasksapp.admin.frame.fragments import DASH, address, away, badge, duration, local_time, number, quiet, time_away
from tasksapp.admin.frame.masking import hidden, may_see_bodies
from tasksapp.queues.celery_broker import LOOKED_AT, HeldKey, Place, QueuedTask, QueueSummary, TaskLimit
from tasksapp.queues.heartbeats import WorkerBeat


class Holder(NamedTuple):
    """The worker that has a message, and since when it runs it; None while it waits there."""

    worker: str
    since: datetime | None


def queue_url(name: str, *, site: str, **query: str | int) -> str:
    """The address of a queue's page."""
    return f"{address('tasksapp_celeryqueue_queue', site=site)}?{urlencode({'queue': name, **query})}"


def queue_rows(
    found: Sequence[QueueSummary], *, workers: Sequence[WorkerBeat] | None, now: datetime, site: str
) -> list[dict[str, Any]]:
    """The rows of the overview.

    Args:
        found: the queues.
        workers: those with a heartbeat; None where they are not known.
        now: the present.
        site: the admin site that links lead to.
    """
    return [_queue_row(one, workers=workers, now=now, site=site) for one in found]


def holders(workers: Sequence[WorkerBeat]) -> dict[str, Holder]:
    """By Celery's task id, who has it, as far as heartbeats name it."""
    found = {task_id: Holder(worker.name, None) for worker in workers for task_id in worker.held}
    return found | {task.id: Holder(worker.name, task.since) for worker in workers for task in worker.running}


def limit_rows(limits: Sequence[TaskLimit], *, now: datetime) -> list[dict[str, Any]]:
    """The limits of a queue's tasks: how often they may start, and who says so."""
    return [
        {
            "task": _limited(limit),
            "rate": format_html("{}", limit.rate) if limit.rate else quiet(_("no limit")),
            "source": _source(limit.set_at, limit.set_by, code=limit.declared, now=now),
            "at_once": _at_once(limit),
            "at_once_source": _source(
                limit.at_once_set_at, limit.at_once_set_by, code=_number_or_none(limit.at_once_declared), now=now
            ),
            "held": _held(limit),
        }
        for limit in limits
    ]


def key_rows(keys: Sequence[HeldKey], *, now: datetime) -> list[dict[str, Any]]:
    """Flow keys that hold tasks back: how many, and when the next of each may start."""
    return [
        {
            "key": one.flow_key,
            "task": one.task,
            "held": number(one.parked),
            "running": number(one.running) if one.running else quiet(DASH),
            # It has reopened where that time has passed: the next one starts as soon as a worker asks.
            "next": away(one.starts_at and max(one.starts_at, now), now=now),
        }
        for one in keys
    ]


def _limited(limit: TaskLimit) -> SafeString:
    if not limit.each_key:
        return format_html("{}", limit.task)
    return format_html("{} {}", limit.task, quiet(_("each flow key")))


def _held(limit: TaskLimit) -> SafeString:
    if not limit.keys:
        return format_html("{}", number(limit.parked))
    some = limit.keys >= LOOKED_AT  # no more are looked at
    keys = ngettext("of %(count)s flow key", "of %(count)s flow keys", limit.keys) % {"count": _count(limit.keys, some)}
    return format_html("{} {}", _count(limit.parked, some), quiet(keys))


def _count(count: int, is_cut: bool) -> str:
    return number(count) + ("+" if is_cut else "")


def _at_once(limit: TaskLimit) -> SafeString:
    if limit.at_once is None:
        return quiet(_("any number"))
    facts = {"running": number(limit.running), "most": number(limit.at_once)}
    return format_html("{}", _("%(running)s of %(most)s run") % facts)


def _number_or_none(count: int | None) -> str | None:
    return None if count is None else number(count)


def _source(set_at: datetime | None, set_by: str, *, code: str | None, now: datetime) -> str:
    if set_at is None:
        return _("as its code says") if code else ""
    facts = {"person": set_by, "time": time_away(set_at, now=now), "rate": code}
    if code:
        return _("%(person)s, %(time)s; its code says %(rate)s") % facts
    return _("%(person)s, %(time)s") % facts


def task_rows(
    request: HttpRequest, tasks: Sequence[QueuedTask], *, held_by: Mapping[str, Holder], now: datetime
) -> list[dict[str, Any]]:
    """The rows of a queue's page; arguments only for those who may see what jobs carry."""
    shows_arguments = may_see_bodies(request)
    return [_task_row(task, shows_arguments=shows_arguments, held_by=held_by, now=now) for task in tasks]


def _queue_row(
    found: QueueSummary, *, workers: Sequence[WorkerBeat] | None, now: datetime, site: str
) -> dict[str, Any]:
    backlog = found.backlog
    taking = [worker for worker in workers or () if found.name in worker.queues]
    badges = [badge(_("timers of jobs"), "planned")] if found.is_lane else []
    if backlog.due and workers is not None and not taking:
        badges.append(badge(_("no worker seen"), "warning"))
    if backlog.parked:
        badges.append(badge(_("held by limits: %(count)s") % {"count": number(backlog.parked)}, "planned"))
    if workers is None:
        taken_by = DASH
    else:
        taken_by = ngettext("%(count)d worker", "%(count)d workers", len(taking)) % {"count": len(taking)}

    def count(value: int, tab: Place) -> SafeString:
        if found.is_lane or not value:
            return format_html("{}", number(value)) if value else quiet(0)
        return format_html('<a href="{}">{}</a>', queue_url(found.name, site=site, tab=tab.value), number(value))

    return {
        "name": found.name,
        "url": queue_url(found.name, site=site),
        "badges": format_html_join(" ", "{}", ((one,) for one in badges)),
        "waiting": count(backlog.waiting, Place.WAITING),
        "due": count(backlog.due, Place.READY),
        "held": count(backlog.leased, Place.LEASED),
        "dead": count(backlog.dead, Place.DEAD),
        "oldest": away(found.oldest_at, now=now),
        "next_due": away(found.next_at, now=now),
        "workers": taken_by,
    }


def _task_row(
    task: QueuedTask, *, shows_arguments: bool, held_by: Mapping[str, Holder], now: datetime
) -> dict[str, Any]:
    arguments = ", ".join(part for part in (_positional(task.args), _named(task.kwargs)) if part)
    known = held_by.get(task.task_id or task.id)
    about = [_("strikes: %(count)d") % {"count": task.strikes}] if task.strikes else []
    if task.retries:
        about.append(_("retries: %(count)d") % {"count": task.retries})
    if task.redelivered and not task.strikes:
        about.append(_("delivered before"))
    if task.expires:
        about.append(_("expires %(time)s") % {"time": task.expires})
    if task.origin:
        about.append(_("sent by %(process)s") % {"process": task.origin})
    return {
        "id": task.id,
        "task": format_html("{}", task.task) if task.task else quiet(_("no task that can be read")),
        "arguments": (format_html("{}", arguments) if shows_arguments else hidden(arguments))
        if arguments
        else quiet(DASH),
        "at": local_time(task.at, now=now),
        "holder": with_worker(known, now=now) if task.place is Place.LEASED else quiet(DASH),
        "reason": _why(task.reason, shows_arguments=shows_arguments),
        "about": " · ".join(about),
        "priority": task.step,
    }


def _why(reason: str, *, shows_arguments: bool) -> SafeString:
    """Why a message is dead: of one that cannot be read, that quotes what is wrong, an argument maybe."""
    begin, mark, quoted = reason.partition("unreadable: ")
    if shows_arguments or begin or not mark:
        return format_html("{}", reason)
    return format_html("{}{}", mark, hidden(quoted))


def with_worker(known: Holder | None, *, now: datetime) -> SafeString:
    """Which worker has a message, and for how long it has run it."""
    if known is None:
        return quiet(_("a worker that does not name it"))
    if known.since is None:
        return format_html("{} {}", known.worker, quiet(_("not begun")))
    span = duration(seconds=max(0.0, (now - known.since).total_seconds()))
    since = _("running for %(span)s") % {"span": span}
    return format_html("{} {}", known.worker, quiet(since))


def _positional(args: str) -> str:
    """``('a', 1)`` or ``['a', 1]`` as ``'a', 1``."""
    return args.strip()[1:-1].rstrip(", ") if args[:1] in {"(", "["} else args


def _named(kwargs: str) -> str:
    return "" if kwargs in {"{}", ""} else kwargs
