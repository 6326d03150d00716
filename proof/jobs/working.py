"""Verbs of workers: they claim timers and rows, call receivers, and are gone."""

from __future__ import annotations

import random
from collections.abc import Sequence, Set

import redis

from delayhub.engine import Lease
from proof.broken import Broken
from proof.jobs import answering
from proof.jobs.ledger import Expected
from proof.jobs.lines import is_behind
from proof.jobs.oracle import Fate, claimed, waiting_claimed
from proof.jobs.places import PlacesBefore
from proof.jobs.rows import Row
from proof.jobs.site import is_resting
from proof.jobs.sometimes import Sometimes
from proof.jobs.wire import Died
from proof.jobs.worker import Taken
from proof.jobs.world import WORKERS, World

#: More than any history has: a claim of so many takes all that may be taken.
ALL = 100
#: How long a timer is a consumer's.
TIMER_LEASE_MS = 30_000


def work(world: World, chance: random.Random) -> None:
    """A worker claims timers, and does at once what follows, or only a part of it."""
    number = chance.randrange(WORKERS)
    taken = take(world, number, chance.choice([1, 3, ALL, ALL]))
    if taken is None or chance.random() < 0.25:
        return
    if deliver(world, number, taken) and chance.random() < 0.85:
        acknowledge(world, number, taken)


def serve(world: World, chance: random.Random) -> None:
    """A worker does what it does on a good day: it takes timers, calls receivers, and writes what they answer."""
    number = chance.randrange(WORKERS)
    taken = take(world, number, ALL)
    if taken is not None and deliver(world, number, taken):
        acknowledge(world, number, taken)
    for call in list(world.workers[number].receiver.open):
        if chance.random() < 0.8:
            if chance.random() < 0.3:
                world.move(chance.choice([20, 1500, 6000]))
            answering.answer_one(world, chance, world.workers[number], call)
    if chance.random() < 0.8:
        answering.write_of(world, number)


def go_on(world: World, chance: random.Random) -> None:
    """A worker goes on with timers that it took earlier."""
    number = chance.randrange(WORKERS)
    worker = world.workers[number]
    if not worker.taken:
        return
    taken = chance.choice(worker.taken)
    if taken.is_delivered:
        acknowledge(world, number, taken)
    else:
        deliver(world, number, taken)


def take(world: World, number: int, limit: int, *, steady: bool = False) -> Taken | None:
    """Claims due timers; None where there are none, or the reply is lost.

    Raises:
        Broken: one that is due is left.
    """
    worker = world.workers[number]
    due = {job_id for job_id in world.owed if 0 < (world.fires_ms.get(job_id) or 0) <= world.now_ms}
    before = PlacesBefore(world)
    found, wrong = world.do(lambda: world.lane.claim(limit, needs_gates=True), steady=steady)
    if wrong is not None:
        # The claim may have shut these queues, as below: the reply that names them was lost.
        world.shut_until_ms |= dict.fromkeys(before.ungated, world.now_ms + 1000)
        if isinstance(wrong, Died):
            world.tell(f"worker {number} dies as it claims timers")
            world.end_worker(number)
        elif not isinstance(wrong, redis.RedisError):
            raise wrong
        world.settle()
        return None
    if found.ungated:
        # It asks again for their gates in a second.
        world.shut_until_ms |= dict.fromkeys(found.ungated, world.now_ms + 1000)
        world.do(lambda: worker.deliver(Taken([], [], found.now_ms, 0), world.lane.name, ungated=found.ungated))
    ids = [job_id for batch in found.batches for job_id in batch.ids]
    queues = before.check({batch.queue for batch in found.batches})
    left = {job_id for job_id in due - set(ids) if _is_open(world, world.rows.by_id[job_id], free=queues)}
    if limit == ALL and left and not found.more:
        raise Broken(f"its timer is due, and no claim gives it: {', '.join(world.name(one) for one in sorted(left))}")
    if due - set(ids) - left:
        world.met.note(Sometimes.HELD_BACK)
    if not ids:
        return None
    leases = [Lease(world.lane.name, batch.queue, one, batch.token) for batch in found.batches for one in batch.ids]
    taken = Taken(ids, leases, found.now_ms, world.now_ms + TIMER_LEASE_MS)
    worker.taken.append(taken)
    world.tell(f"worker {number} takes the timers of {', '.join(world.name(one) for one in ids)}")
    world.settle()
    return taken


def _is_open(world: World, row: Row, *, free: Set[str]) -> bool:
    """Whether nothing but its time holds a job back."""
    has_place = world.kind(row).at_once is None or world.queue(row) in free
    return has_place and world.shut_until_ms.get(world.queue(row), 0) < world.now_ms


def deliver(world: World, number: int, taken: Taken, *, steady: bool = False) -> bool:
    """Runs the task that these timers become; whether it has come to its end."""
    worker, now_ms = world.workers[number], world.now_ms
    if worker.dispatcher.room <= 0:
        return False  # the task would wait until there is room
    if taken.until_ms < now_ms:
        world.met.note(Sometimes.ZOMBIE_DELIVERED)
        world.are_places_known = False  # its place ended with that lease, and it may run all the same
    rows = [world.rows.by_id[one] for one in dict.fromkeys(taken.ids) if one in world.rows.by_id]
    fates = _expect_claimed(world, rows)
    _, wrong = world.do(lambda: worker.deliver(taken, world.lane.name), steady=steady)
    at = ", ".join(world.name(row.id) for row in rows)
    world.tell(f"worker {number} claims the rows of {at}{'' if wrong is None else f': {type(wrong).__name__}'}")
    if isinstance(wrong, Died):
        world.end_worker(number)
    elif wrong is not None:
        worker.taken.remove(taken)
    taken.is_delivered = wrong is None
    if world.happened:
        for row in rows:  # its turn had come, and then something happened
            if row.waits and row.id in fates:
                fates[row.id].append(Fate("pending", row.next_run_ms, row.attempts))
    if world.happened or is_resting():
        world.owed -= set(taken.ids)  # their timers may go, though their rows were not taken
    world.site.go_on()
    changed = world.settle(Expected(fates=fates, is_sure=not world.happened))
    held = {callback.job_id for callback in worker.holds}
    for before, after in changed.values():
        if before is not None:
            _note_claim(world, before, after)
        if after.status == "running" and after.id not in held and not world.happened:
            raise Broken(f"claimed, and not handed over: {world.name(after.id)}")
    return wrong is None


def _expect_claimed(world: World, rows: Sequence[Row]) -> dict[str, list[Fate]]:
    """What a claim of these rows makes of them: of those that wait for the end of others behind that of the others."""
    fates: dict[str, list[Fate]] = {}
    for row in sorted(rows, key=lambda row: row.waits):
        kind, is_resolved, now_ms = world.kind(row), world.is_resolved(row), world.now_ms
        fate = claimed(row, kind, now_ms=now_ms, is_resolved=is_resolved)
        if fate is not None and is_behind(world, row):
            world.met.note(Sometimes.IN_LINE)
            fate = None
        if row.waits:
            others = (other for other in world.of_biz_id(row) if not other.waits)
            has_other = any(other.id not in fates or fates[other.id][0].status == "running" for other in others)
            fate = waiting_claimed(row, kind, now_ms=now_ms, is_resolved=is_resolved, is_behind=has_other)
        if fate is not None:
            fates[row.id] = [fate]
    return fates


def _note_claim(world: World, before: Row, after: Row) -> None:
    if before.waits and after.waits:
        world.met.note(Sometimes.BEHIND)
    elif after.status == "cancelled":
        world.met.note(Sometimes.RESOLVED_CLAIM)
    elif before.expires_ms and before.expires_ms <= world.now_ms and after.status in ("skipped", "dead"):
        world.met.note(Sometimes.EXPIRED)
    elif after.status in ("skipped", "dead"):
        age_ms = world.kind(after).age_ms
        is_old = age_ms is not None and world.now_ms - (before.redriven_ms or before.due_ms) > age_ms
        world.met.note(Sometimes.TOO_OLD if is_old else Sometimes.TOO_LATE)


def acknowledge(world: World, number: int, taken: Taken, *, steady: bool = False) -> None:
    """The message is done: the leases of its timers end."""
    worker = world.workers[number]
    worker.taken.remove(taken)
    # A job that is pending again by the loader had no timer set while this lease was there.
    world.owed -= {one for one in taken.ids if one in world.left_leased}
    _, wrong = world.do(lambda: world.lane.acknowledge(taken.leases), steady=steady)
    world.tell(f"worker {number} acknowledges {', '.join(world.name(one) for one in taken.ids)}")
    if isinstance(wrong, Died):
        world.end_worker(number)
    world.settle()


def crash(world: World, chance: random.Random) -> None:
    """A worker is gone with all that it holds."""
    number = chance.randrange(WORKERS)
    if world.workers[number].receiver.open:
        world.met.note(Sometimes.WORKER_GONE)
    if world.workers[number].holds or world.workers[number].taken:
        world.tell(f"worker {number} is killed")
        world.has_crashed = True
        world.end_worker(number)
        world.settle()
