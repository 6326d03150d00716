"""Verbs of callers and people: they call jobs off, move them, and let dead ones try again."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from delayhub.clock import moment
from proof.broken import Broken
from proof.jobs.creating import BIZ_IDS, DELAYS_MS
from proof.jobs.kinds import KINDS
from proof.jobs.ledger import Expected
from proof.jobs.lines import first_of, is_behind, line_of
from proof.jobs.oracle import Fate
from proof.jobs.rows import Row
from proof.jobs.sometimes import Sometimes
from proof.jobs.world import World, error_name
from tasksapp import jobs
from tasksapp.errors import AlreadyAnswered, KeyResolved, NotFirst, OneIsLive, VersionConflict, WrongState
from tasksapp.jobs.bulk import apply_many
from tasksapp.jobs.verbs import Verb
from tasksapp.models import Job, Operation

# ---------------------------------------------------------------- verbs of one job


def _to_one(
    world: World, row: Row, words: str, verb: Callable[[int | None], Any], *, source: str, fates: Sequence[Fate],
    said: Sometimes, other_error: type[Exception] | None = None,
) -> None:  # fmt: skip
    """Does a verb to a job, by the version that it has, by an older one, or by none."""
    version = world.chance.choice([None, None, row.version, row.version - 1])
    _, wrong = world.do(lambda: verb(version))
    is_allowed = row.status == source and version in (None, row.version)
    world.tell(f"{words} {world.name(row.id)}: {error_name(wrong)}")
    may = {row.id: fates} if is_allowed else {}
    is_sure = is_allowed and wrong is None
    if wrong is None and not is_allowed:
        raise Broken(
            f"{words} was accepted: {world.name(row.id)} was {row.status}, version {row.version - (version or 0)}"
        )
    if isinstance(wrong, WrongState | VersionConflict):
        if is_allowed:
            raise Broken(f"{words} was refused: {world.name(row.id)} was {row.status}")
        world.met.note(Sometimes.STALE if isinstance(wrong, VersionConflict) else Sometimes.CANCEL_REFUSED)
    elif other_error is not None and isinstance(wrong, other_error):
        may = {}
    world.settle(Expected(fates=may, is_sure=is_sure, puts_timers=True))
    if is_sure:
        world.met.note(said)


def _any(world: World, *statuses: str) -> Row | None:
    """A job, most often one that has such a status."""
    rows = world.with_status(*statuses) if world.chance.random() < 0.9 else list(world.rows.by_id.values())
    return world.chance.choice(rows) if rows else None


def cancel(world: World, chance: random.Random) -> None:
    """Calls a job off."""
    if row := _any(world, "pending", "running"):
        fates = [Fate("cancelled", attempts=row.attempts)]
        _to_one(
            world, row, "cancel", lambda version: jobs.cancel(UUID(row.id), version=version), source="pending",
            fates=fates, said=Sometimes.CANCELLED,
        )  # fmt: skip


def reschedule(world: World, chance: random.Random) -> None:
    """Moves a job to another time."""
    if row := _any(world, "pending"):
        delay = chance.choice(DELAYS_MS)
        _to_one(
            world, row, f"move by {delay} ms",
            lambda version: jobs.reschedule(UUID(row.id), delay=timedelta(milliseconds=delay), version=version),
                source="pending", fates=[Fate("pending", world.now_ms + delay, row.attempts, redriven_ms=0)],
            said=Sometimes.MOVED,
        )  # fmt: skip


def edit(world: World, chance: random.Random) -> None:
    """Changes what a job carries, and maybe its time."""
    row = _any(world, "pending")
    if row is None:
        return
    in_line = line_of(world, row) is not None
    fields: dict[str, Any] = {} if in_line else {"priority": (row.priority + 1) % 10}
    next_ms, due_ms = row.next_run_ms, row.due_ms
    if in_line or chance.random() < 0.5:
        due_ms = next_ms = world.now_ms + chance.choice([1, 2500, 20_000])
        if due_ms == row.due_ms:  # an edit that leaves all as it is need not be written
            due_ms = next_ms = due_ms + 1
        fields["due_at"] = moment(due_ms)
    elif chance.random() < 0.4:
        fields["due_at"] = moment(due_ms)  # as it is: what a retry waits for stays, too
    if chance.random() < 0.3:
        fields["expires_at"] = moment(max(due_ms, world.now_ms) + 30_000)
    elif row.expires_ms:
        fields["expires_at"] = None
    _to_one(
        world, row, f"edit {' and '.join(sorted(fields))} of",
        lambda version: jobs.edit(UUID(row.id), version=version, **fields),
        source="pending", fates=[Fate("pending", next_ms, row.attempts)], said=Sometimes.EDITED,
    )  # fmt: skip


def run_now(world: World, chance: random.Random) -> None:
    """Makes a job due at once."""
    if row := _any(world, "pending"):
        behind = is_behind(world, row)
        if behind:
            world.met.note(Sometimes.NOT_FIRST)
        _to_one(
            world, row, "run at once", lambda version: jobs.run_now(UUID(row.id), version=version), source="pending",
            fates=[] if behind else [Fate("pending", world.now_ms, row.attempts)], said=Sometimes.RUN_NOW,
            other_error=NotFirst if behind else None,
        )  # fmt: skip


def _redriven(row: Row, *, now_ms: int) -> Fate:
    """A job that may try again: at once, as if it were new, but for how often it was tried."""
    return Fate(
        "pending", now_ms, row.attempts, redrives=row.redrives + 1, system_errors=0, attempt_base=row.attempts,
        redriven_ms=now_ms,
    )  # fmt: skip


def redrive(world: World, chance: random.Random) -> None:
    """Lets a dead job try again."""
    row = _any(world, "dead")
    if row is None:
        return
    lift = world.is_resolved(row) and chance.random() < 0.5
    kind, others = world.kind(row), world.of_biz_id(row)
    # One that waits lets a job go before it that has begun.
    one_is_live = bool(kind.keeps_one and others) or (kind.keeps_last and any(not each.waits for each in others))
    refused = KeyResolved if world.is_resolved(row) and not lift else OneIsLive if one_is_live else None
    may_refuse = refused or (AlreadyAnswered if lift and kind.hears else None)
    fate = _redriven(row, now_ms=world.now_ms)
    _to_one(
        world, row, "redrive" + " and lift" * lift,
        lambda version: jobs.redrive(UUID(row.id), version=version, lift=lift), source="dead",
        fates=[] if refused else [fate], said=Sometimes.REDRIVEN, other_error=may_refuse,
    )  # fmt: skip
    world.read_tombstones()


def drop(world: World, chance: random.Random) -> None:
    """Gives a dead job up."""
    if row := _any(world, "dead"):
        _to_one(
            world, row, "drop", lambda version: jobs.drop(UUID(row.id), version=version), source="dead",
            fates=[Fate("dropped", attempts=row.attempts)], said=Sometimes.DROPPED,
        )  # fmt: skip


def drop_blockers(world: World) -> None:
    """Gives up dead jobs that hold up others of their flow keys."""
    for line in {line for row in world.live() if (line := line_of(world, row))}:
        row = first_of(world, line)
        if row is not None and row.status == "dead":
            world.do(partial(jobs.drop, UUID(row.id)), steady=True)
            world.tell(f"drop {world.name(row.id)}, which holds up its flow key")
            fates = {row.id: [Fate("dropped", attempts=row.attempts)]}
            world.settle(Expected(fates=fates, is_sure=True, puts_timers=True))


# ---------------------------------------------------------------- verbs of several jobs


def bulk(world: World, chance: random.Random) -> None:
    """Does a verb to several jobs in one transaction."""
    rows = list(world.rows.by_id.values())
    if not rows:
        return
    picked = chance.sample(rows, min(len(rows), 3))
    verb = chance.choice([Verb.CANCEL, Verb.RUN_NOW, Verb.REDRIVE, Verb.DROP])
    if any(row.status == "dead" and world.is_resolved(row) for row in picked) and chance.random() < 0.5:
        verb = Verb.REDRIVE
    outcome, wrong = world.do(lambda: apply_many(verb, [UUID(row.id) for row in picked]))
    now_ms = world.now_ms
    made = {
        Verb.CANCEL: lambda row: Fate("cancelled", attempts=row.attempts),
        Verb.RUN_NOW: lambda row: Fate("pending", now_ms, row.attempts),
        Verb.REDRIVE: lambda row: _redriven(row, now_ms=now_ms),
        Verb.DROP: lambda row: Fate("dropped", attempts=row.attempts),
    }[verb]
    fates = {
        row.id: [made(row)]
        for row in picked
        if row.status == verb.source.value
        and not (verb is Verb.REDRIVE and world.is_resolved(row))
        and not (verb is Verb.RUN_NOW and is_behind(world, row))
    }
    world.tell(f"{verb.word} {', '.join(world.name(row.id) for row in picked)}: {error_name(wrong)}")
    # A redrive leaves those out of whose biz id one is live.
    may_stay = frozenset(
        row.id for row in picked if verb is Verb.REDRIVE and (world.kind(row).keeps_one or world.kind(row).keeps_last)
    )
    changed = world.settle(Expected(fates=fates, is_sure=wrong is None, may_stay=may_stay))
    if wrong is None:
        world.met.note(Sometimes.BULK)
        if outcome.changed != len(changed):
            raise Broken(f"a bulk says {outcome.changed} where {len(changed)} have changed")
    elif changed and len(changed) != len(fates):
        raise Broken("a part of a transaction is there")


def resolve(world: World, chance: random.Random) -> None:
    """Calls off all jobs of a biz id."""
    world.move(1)  # no job was made at the very moment of a resolve
    code, biz_id = chance.choice(world.setting.kinds), chance.choice(BIZ_IDS[:3])
    live = [row for row in world.live() if row.biz_id]
    if live and chance.random() < 0.8:
        picked = chance.choice(live)
        code, biz_id = world.kind(picked).code, picked.biz_id
    biz_type_id = world.site.biz_type(KINDS[code]).pk
    rows = [row for row in world.live() if (row.biz_type_id, row.biz_id) == (biz_type_id, biz_id)]
    running = [row for row in rows if row.status == "running"]
    pending = [row for row in rows if row.status == "pending"]
    is_first = (biz_type_id, biz_id) not in world.resolved
    found, wrong = world.do(lambda: jobs.resolve(code, biz_id))
    is_accepted = wrong is None and found.accepted is True
    world.read_tombstones()
    world.tell(f"resolve {biz_id} of {code}: {'accepted' if is_accepted else 'not accepted'}")
    if wrong is None and (biz_type_id, biz_id) not in world.resolved:
        raise Broken(f"resolved, and there is no tombstone: {biz_id}")
    if (biz_type_id, biz_id) not in world.resolved:
        pending = []
    fates = {row.id: [Fate("cancelled", attempts=row.attempts)] for row in pending}
    world.settle(Expected(fates=fates, is_sure=is_accepted))
    if not is_accepted:
        return
    if is_first and pending and KINDS[code].hears and world.answered.get((biz_type_id, biz_id)) != pending[0].id:
        raise Broken(f"it waited for an answer, and was called off without: {world.name(pending[0].id)}")
    if sorted(map(str, found.running)) != sorted(row.id for row in running):
        raise Broken("a resolve names others than those that run")
    for row in running:
        world.met.note(Sometimes.RESOLVED_WHILE_RUNNING)
        world.bar(row, "a resolve", allowed=row.token)
    if pending:
        world.met.note(Sometimes.RESOLVED)


def lift(world: World, chance: random.Random) -> None:
    """Takes a resolve back."""
    if not world.resolved:
        return
    biz_type_id, biz_id = chance.choice(sorted(world.resolved))
    world.do(lambda: jobs.lift(world.site.biz_types[biz_type_id].code, biz_id))
    world.read_tombstones()
    world.tell(f"lift {biz_id}")
    world.settle()
    if (biz_type_id, biz_id) not in world.resolved:
        for row in world.with_status("running"):
            if (row.biz_type_id, row.biz_id) == (biz_type_id, biz_id):
                world.facts[row.id].barred = ""


def operate(world: World, chance: random.Random) -> None:
    """An operation has changed a job last; it counts what becomes of that."""
    rows = [row for row in world.live() if row.operation_id is None]
    if not rows:
        return
    row = chance.choice(rows)
    if not world.operations or chance.random() < 0.3:
        made = Operation.objects.create(verb="run_now", job_filter={}, state="done", started_by="a person")
        world.begin_operation(made.pk)
    number = chance.choice(sorted(world.operations))
    Job.objects.filter(id=UUID(row.id)).update(operation_id=number)
    world.tell(f"operation {sorted(world.operations).index(number) + 1} has changed {world.name(row.id)}")
    same = Fate(row.status, row.next_run_ms, row.attempts)
    world.settle(Expected(fates={row.id: [same]}, sets_timers=False))
