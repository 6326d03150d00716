"""``celery -A app delayhub …``: looks at what waits in Redis and acts on it; none of it needs a worker."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
import redis
from kombu.exceptions import KombuError

from delayhub.celery_support.control import Control
from delayhub.celery_support.exporter import Exporter
from delayhub.celery_support.idle_options import faulty_task_options, idle_slots, scheme_of
from delayhub.celery_support.kombu_workers import kombu_workers
from delayhub.celery_support.queued_task import QueuedTask
from delayhub.clock import moment
from delayhub.errors import DelayHubError

if TYPE_CHECKING:
    from celery import Celery

Verb = TypeVar("Verb", bound=Callable[..., Any])
Row = Mapping[str, Any]

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document instead of a table.")
queue_option = click.option("-Q", "--queue", help="One queue; all that are known by default.")

dry_run_option = click.option("--dry-run", is_flag=True, help="Only count; it asks nothing.")
each_key_option = click.option("--each-key", is_flag=True, help="Of each flow key of the task.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group(name="delayhub")
def delayhub() -> None:
    """Look at what waits in Redis, and act on it; no worker is needed."""


def verb(
    *, is_failure: Callable[[Any], bool] = lambda _: False, upright: bool = False, **options: Any
) -> Callable[[Verb], click.Command]:
    """A decorator: the function becomes a command that gets the app's control; its result is printed.

    Args:
        is_failure: whether the command ends with exit code 1 although it has a result.
        upright: whether each row is printed as lines, one for each of its values.
        options: click's own.
    """

    def decorate(function: Verb) -> click.Command:
        @wraps(function)
        def run(*, as_json: bool, **arguments: Any) -> None:
            try:
                found = function(control_of(click.get_current_context().obj.app), **arguments)
            except (DelayHubError, KombuError, redis.RedisError, OSError, ValueError) as error:
                raise click.ClickException(str(error)) from error
            show(found, as_json=as_json, upright=upright)
            if is_failure(found):
                raise click.exceptions.Exit(1)

        return delayhub.command(**options)(json_option(run))

    return decorate


def control_of(app: Celery) -> Control:
    """The app's control.

    Raises:
        ClickException: the app does not use DelayHub.
    """
    cast("Any", app).loader  # noqa: B018  which may install DelayHub, and must do so before the control is made
    if not isinstance(app.control, Control):
        raise click.ClickException("this app does not use DelayHub; call delayhub.install(app) where it is made")
    return app.control


@verb()
@queue_option
def counts(control: Control, queue: str | None) -> list[Row]:
    """How many tasks of each queue wait, are ready, are held by workers, are dead; of a timer lane, its timers."""
    return [{"queue": name, **found._asdict()} for name, found in control.counts(queue).items()]


@verb()
@queue_option
def backlog(control: Control, queue: str | None) -> list[Row]:
    """What there is to do on each queue, for autoscalers: due tasks, and for how long the first has been due."""
    return [{"queue": name, **found._asdict()} for name, found in control.backlogs(queue).items()]


@verb()
@queue_option
def limits(control: Control, queue: str | None) -> list[Row]:
    """The limits of tasks on each queue, who set them, and how many due tasks they hold back."""
    return [{"queue": name, **limit._asdict()} for name, found in control.rate_limits(queue).items() for limit in found]


@verb()
@click.argument("queue")
@click.argument("number", required=False, type=int)
def slots(control: Control, queue: str, number: int | None) -> Row:
    """On a Redis Cluster, into how many slots a queue is cut; sets NUMBER (1, 2, 4 … 64) where it is given."""
    found = control.slots(queue, number)
    return {"queue": queue, "slots": found.number, "asked": found.places}


@verb(name="rate-limit")
@click.argument("task")
@click.argument("rate", metavar="RATE|declared")
@each_key_option
def rate_limit(control: Control, task: str, rate: str, *, each_key: bool) -> Row:
    """Set how often a task starts ("10/s"), over all workers of a queue; 0: no limit, "declared": what code says."""
    try:
        queues = control.set_rate_limit(task, None if rate == "declared" else rate, each_key=each_key)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    doubt_name(control, task)
    return {"task": task, "each_key": each_key, "rate_limit": rate, "queues": queues}


def doubt_name(control: Control, task: str) -> None:
    """Says on stderr where the app has no task of that name; another program may have it, so the limit is set."""
    if import_fault(control) or task in control.app.tasks:
        return
    near = get_close_matches(task, control.app.tasks, n=1)
    meant = f"; is {near[0]} meant?" if near else ""
    click.echo(f"This app has no task {task}{meant} The limit is set all the same.", err=True)


def import_fault(control: Control) -> str:
    """Imports the modules of the app's tasks, as workers do; why that failed, '' where it did not."""
    try:
        control.app.loader.import_default_modules()
    except Exception as error:  # what project code raises is anything
        return f"the modules of the tasks cannot be imported, so no worker starts: {error!r}"
    return ""


@verb(name="max-in-flight")
@click.argument("task")
@click.argument("most", metavar="NUMBER|declared")
@each_key_option
def max_in_flight(control: Control, task: str, most: str, *, each_key: bool) -> Row:
    """Set how many of a task run at once, over all workers of a queue; 0: any number, "declared": what code says."""
    if most != "declared" and not (most.isascii() and most.isdecimal() and len(most) < 10):
        raise click.UsageError("give a number of up to 9 digits, or the word declared")
    queues = control.set_max_in_flight(task, None if most == "declared" else int(most), each_key=each_key)
    doubt_name(control, task)
    return {"task": task, "each_key": each_key, "max_in_flight": most, "queues": queues}


@verb(name="flow-keys")
@queue_option
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
def flow_keys(control: Control, queue: str | None, limit: int) -> list[Row]:
    """The flow keys whose limits hold most tasks back, on each queue; it looks at about 2,000 of them."""
    found = control.held_flow_keys(queue, limit=limit)
    return [{"queue": name, **key._asdict()} for name, keys in found.items() for key in keys]


@verb()
@queue_option
@click.option("--free", metavar="KEY", help="Free a key; the task that has it stays, and may run beside the next one.")
def unique(control: Control, queue: str | None, free: str | None) -> Row | list[Row]:
    """Unique keys that are taken: by which task, until when, how many calls wait for each, and when its time ends."""
    if free is not None:
        return {"key": free, "freed": bool(control.free_unique_key(free, queue))}
    return [
        {
            "queue": name,
            "key": taken.key,
            "id": taken.id,
            "until": taken.until.value,
            "waiting": taken.following,
            "till": moment(taken.till_ms) if taken.till_ms else None,
        }
        for name, found in control.unique_keys(queue).items()
        for taken in found
    ]


@delayhub.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=9540, show_default=True)
def exporter(host: str, port: int) -> None:
    """Serve the backlogs for Prometheus (/metrics) and for autoscalers (/queues/NAME), until Ctrl-C."""
    control = control_of(click.get_current_context().obj.app)
    try:
        server = Exporter(control, host=host, port=port)
    except OSError as error:
        raise click.ClickException(f"cannot listen on {host}:{port}: {error.strerror}") from error
    with server, suppress(KeyboardInterrupt):
        click.echo(f"http://{host}:{server.server_port}/metrics")
        server.serve_forever()


@verb()
@queue_option
@click.option("--forget", metavar="NAME", help="Remove the state of an entry that is in no schedule any more.")
def schedules(control: Control, queue: str | None, forget: str | None) -> Row | list[Row]:
    """Periodic entries: when each was published last, when it is next, and when a beat tended it last."""
    if forget is not None:
        return {"name": forget, "forgotten": control.forget_schedule(forget)}
    return [entry._asdict() for entry in control.schedules(queue)]


@verb()
@queue_option
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
def scheduled(control: Control, queue: str | None, limit: int, offset: int) -> list[Row]:
    """Tasks that wait for their time, the soonest first."""
    return [_in_short(task) for task in control.scheduled(queue, limit=limit, offset=offset)]


@verb()
@queue_option
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
def dead(control: Control, queue: str | None, limit: int, offset: int) -> list[Row]:
    """Tasks that gave up, the oldest first, with the reason."""
    return [_in_short(task) for task in control.dead(queue, limit=limit, offset=offset)]


def _in_short(task: QueuedTask) -> Row:
    shown = ("id", "task", "at", "args", "kwargs", "strikes", "reason")
    return {name: getattr(task, name) for name in shown} | ({} if task.task else {"task": "(unreadable)"})


@verb(name="show", is_failure=lambda found: not found, upright=True)
@queue_option
@click.argument("task_id")
def find(control: Control, queue: str | None, task_id: str) -> list[Row]:
    """Where a task is, and what its message says; exit code 1 where it is nowhere, as when it has ended."""
    return [{"queue": name, **asdict(task)} for name, tasks in control.find(task_id, queue).items() for task in tasks]


@verb()
@queue_option
@click.option("--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="Without ids: how many.")
@click.option("--all", "all_", is_flag=True, help="Without ids: all that are dead now.")
@click.argument("ids", nargs=-1)
def redrive(control: Control, queue: str | None, limit: int, all_: bool, ids: Sequence[str]) -> Row:
    """Put dead tasks back in line: those named, or the oldest; one whose unique key another task has stays dead."""
    if not all_:
        return {"redriven": control.redrive(queue, list(ids) or None, limit=limit)}
    if ids:
        raise click.UsageError("give either ids or --all")
    redriven, left = control.redrive_all(queue)
    return {"redriven": redriven, "left": left}


@verb()
@queue_option
@click.option("--eta", type=click.DateTime(["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z"]), help="The new time.")
@click.option("--countdown", type=float, help="Or the seconds from now.")
@click.argument("task_id")
def reschedule(control: Control, queue: str | None, eta: datetime | None, countdown: float | None, task_id: str) -> Row:
    """Move a waiting task to another time."""
    if (eta is None) == (countdown is None):
        raise click.UsageError("give either --eta or --countdown")
    return {"id": task_id, "moved": control.reschedule(task_id, eta=eta, countdown=countdown, queue=queue)}


@verb()
@click.argument("task_ids", nargs=-1, required=True)
def revoke(control: Control, task_ids: Sequence[str]) -> Row:
    """Revoke tasks for good: waiting ones never run, and workers that hold one revoke it."""
    control.revoke(list(task_ids))
    return {"revoked": len(task_ids)}


def has_faults(rows: Sequence[Row]) -> bool:
    """Whether one of the findings is a fault."""
    return any(row["level"] == "fault" for row in rows)


@verb(is_failure=has_faults)
def check(control: Control) -> Sequence[Row]:
    """Whether Redis can be trusted, jobs are delivered, kombu's own transport left tasks; exit code 1 at a fault."""
    try:
        fitness, left = control.examine()
    except (KombuError, redis.RedisError, OSError) as error:
        return [{"level": "fault", "about": f"no task runs: Redis does not answer: {error}"}]
    rows = [{"level": "fault", "about": f"this Redis server: {fault}"} for fault in fitness.faults]
    rows += [{"level": "warning", "about": f"this Redis server: {warning}"} for warning in fitness.warnings]
    if fault := import_fault(control):
        return [*rows, {"level": "fault", "about": fault}]
    of_jobs = control.examine_jobs()
    rows += [{"level": "fault", "about": f"no job can run: {fault}"} for fault in of_jobs.faults]
    rows += [{"level": "fault", "about": fault} for fault in of_jobs.delivery_faults]
    rows += [{"level": "warning", "about": warning} for warning in of_jobs.warnings]
    if left is None:
        about = "its user may not read kombu's keys, so messages of kombu's own transport were not looked for: see ~*"
        rows.append({"level": "warning", "about": about})
    elif left.total:
        rows.append({"level": "warning", "about": f"{left.total} messages of kombu's own transport: see import-redis"})
    rows += [{"level": "warning", "about": about} for about in unattended_queues(control)]
    of_options = [*faulty_task_options(control.app), *idle_slots(control.app, scheme=scheme_of(control.app))]
    rows += [{"level": "warning", "about": about} for about in of_options]
    return rows or [{"level": "ok", "about": fitness.server}]


def unattended_queues(control: Control) -> list[str]:
    """A sentence for each queue with due tasks that no worker takes."""
    found = control.unattended()
    beside = kombu_workers(control.app) if found else []
    hint = f"; {', '.join(beside)} have redis:// for their broker and do not see them" if beside else ""
    return [
        f"{row.due} tasks are due on {name}, and no worker that answers takes it{hint}" for name, row in found.items()
    ]


@verb(name="import-redis")
@click.option("--from", "source", help="redis:// URL of the old broker; by default the Redis of this one.")
@click.option("-Q", "--queue", "queues", multiple=True, help="A queue to move, again for more; all by default.")
@click.option("--ready-only", is_flag=True, help="Leave to old workers what they hold; they may be up.")
@dry_run_option
@yes_option
def import_redis(
    control: Control, *, source: str | None, queues: Sequence[str], ready_only: bool, dry_run: bool, yes: bool
) -> Row:
    """Move over what kombu's own Redis transport keeps: queues, what workers held, what they know to be revoked."""
    if not (ready_only or dry_run or yes):
        click.confirm("Have all workers and producers of the old broker been stopped?", abort=True)
    return control.import_redis(source, queues=queues, dry_run=dry_run, ready_only=ready_only)._asdict()


@verb(name="export-redis")
@click.option("--to", "target", help="redis:// URL of the other broker; by default the Redis of this one.")
@click.option("-Q", "--queue", "queues", multiple=True, help="A queue to move, again for more; all by default.")
@dry_run_option
@yes_option
def export_redis(control: Control, target: str | None, queues: Sequence[str], dry_run: bool, yes: bool) -> Row:
    """Move what waits and what is ready back to kombu's own Redis transport, with its etas."""
    if not (dry_run or yes):
        click.confirm("Have all workers and producers been stopped?", abort=True)
    return control.export_redis(target, queues=queues, dry_run=dry_run)._asdict()


def show(found: Row | Sequence[Row], *, as_json: bool, upright: bool = False) -> None:
    """Prints rows as a table, as lines, or as JSON."""
    if as_json:
        click.echo(json.dumps(found, default=as_text))
        return
    rows = [found] if isinstance(found, Mapping) else found
    if not rows:
        click.echo("none")
        return
    if upright:
        click.echo("\n\n".join("\n".join(f"{name:<12} {as_text(row[name])}".rstrip() for name in row) for row in rows))
        return
    # Columns in which no row says anything make a table wide, and are in the JSON all the same.
    names = [name for name in rows[0] if any(as_text(row[name]) for row in rows)]
    lines = [names, *([as_text(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def as_text(value: Any) -> str:
    """A value as people and machines read it."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return "" if value is None else str(value)
