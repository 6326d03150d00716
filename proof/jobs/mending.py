"""The loader's turns, and what puts rows and timers apart: timers lost, early or doubled, a Redis that goes back."""

from __future__ import annotations

import random
from uuid import UUID

from proof.broken import Broken
from proof.jobs import answering, working
from proof.jobs.kinds import FOLLOWER, HELD_MS, KINDS, LEASE_SECONDS
from proof.jobs.ledger import Expected
from proof.jobs.lines import is_behind
from proof.jobs.oracle import lost
from proof.jobs.rows import Row
from proof.jobs.site import WINDOW_SECONDS
from proof.jobs.sometimes import Sometimes
from proof.jobs.wire import Died
from proof.jobs.world import WORKERS, World
from proof.snapshot import go_back as put_back
from proof.snapshot import snapshot
from tasksapp.maintenance.loader import OVERDUE

OVERDUE_MS = int(OVERDUE.total_seconds() * 1000)


def load(world: World, chance: random.Random) -> None:
    """The loader has a turn, where the history has one."""
    if world.setting.has_loader:
        if chance.random() < 0.1:
            world.loader = world.new_loader()
            world.tell("the loader begins anew")
        turn(world)


def stand_still(world: World, chance: random.Random) -> None:
    """A worker stands still until its leases have ended, another goes on with its jobs, and then it wakes."""
    number = chance.randrange(WORKERS)
    still, other = world.workers[number], (number + 1) % WORKERS
    if not still.receiver.open or not world.setting.has_loader:
        return
    world.move(HELD_MS + 1)
    turn(world)
    taken = working.take(world, other, working.ALL) if chance.random() < 0.75 else None
    if taken is not None and working.deliver(world, other, taken):
        working.acknowledge(world, other, taken)
    for call in list(still.receiver.open):
        if chance.random() < 0.7:  # else its writer wakes first, and renews
            answering.say(world, still, call, chance.choice(["200", "500", "410"]))
    world.move(chance.choice([0, 1000]))
    if still is world.workers[number]:
        answering.write_of(world, number)


def outage(world: World, chance: random.Random) -> None:
    """The database is away, and no worker can renew a lease, until all have ended; then the loader has a turn."""
    if not world.setting.has_loader:
        return
    world.time.move(chance.choice([HELD_MS + 1, 4 * HELD_MS]))
    world.database_back_ms = world.now_ms
    world.tell("the database was away, and is there again")
    world.met.note(Sometimes.DATABASE_AWAY)
    turn(world)


def turn(world: World, *, steady: bool = False) -> None:
    """One turn of the loader.

    Raises:
        Broken: a timer is missing that it has to bring.
    """
    loader, now_ms = world.loader, world.now_ms
    before = loader._loaded_until
    # Who could not renew a lease while the database was away has time to do it now.
    may_lose = now_ms - world.database_back_ms >= LEASE_SECONDS * 1000
    fates = {
        row.id: [fate]
        for row in world.with_status("running")
        if may_lose and (fate := lost(row, world.kind(row), now_ms=now_ms, is_resolved=world.is_resolved(row)))
    }
    running = [row for row in world.with_status("running") if row.id not in fates]
    untimed = [row for row, at_ms in world.timers(running) if at_ms is None]
    held = [row for row, at_ms in world.timers(world.with_status("pending")) if at_ms == 0]
    found, wrong = world.do(loader.run_once, steady=steady)
    for row, at_ms in world.timers(untimed):
        if at_ms is not None:
            raise Broken(f"the loader sets a timer of a job that runs: {world.name(row.id)}")
    for row in held:
        waiting = world.lane.keys.queue(world.queue(row)).waiting
        if not row.flow_key and world.lane.client.zscore(waiting, row.id) is not None:
            raise Broken(f"the loader sets a timer that a consumer holds: {world.name(row.id)}")
    if isinstance(wrong, Died):
        world.loader = world.new_loader()
    is_held = wrong is None and found.held
    said = (
        f"{type(wrong).__name__}"
        if wrong
        else f"{found.entered} entered, {found.overdue} overdue, {found.returned} returned"
    )
    world.tell(f"the loader has a turn: {said}")
    covers = is_held and loader._uptime.covers_a_lease()
    changed = world.settle(Expected(fates=fates, is_sure=covers and not world.happened))
    _note(world, changed)
    if not is_held or world.happened:
        world.owed -= changed.keys()
        return
    if world.is_empty and not found.reloaded:
        raise Broken("Redis has lost all it had, and the loader does not load the window")
    world.is_empty = False
    world.met.note(Sometimes.RELOADED if found.reloaded else Sometimes.HEALED if found.overdue else Sometimes.ENTERED)
    end_ms = now_ms + int(WINDOW_SECONDS * 1000)
    begin_ms = 0 if found.reloaded or before is None else int(before.timestamp() * 1000)
    pending = world.with_status("pending")
    near = [row for row in pending if row.next_run_ms <= now_ms - OVERDUE_MS or begin_ms < row.next_run_ms <= end_ms]
    near += [row for row in pending if row.id in changed and row not in near]
    near = [row for row in near if not is_behind(world, row)]
    for row, at_ms in world.timers(near):
        if at_ms is None:
            raise Broken(f"the loader left it without a timer: {world.name(row.id)}")
        if at_ms == 0:
            # A consumer holds it, which may end that lease and leave the job without a timer, until the next turn.
            world.left_leased.add(row.id)
        else:
            world.owed.add(row.id)
            world.left_leased.discard(row.id)
    world.check_timers()


def _note(world: World, changed: dict[str, tuple[Row | None, Row]]) -> None:
    for before, after in changed.values():
        if before is None or before.status != "running":
            continue
        world.met.note(Sometimes.LEASE_LOST)
        if after.status == "dead":
            once = world.kind(after).is_once
            world.met.note(Sometimes.OUTCOME_UNKNOWN if once else Sometimes.LOST_TOO_OFTEN)


# ---------------------------------------------------------------- rows and timers are put apart


def lose_timer(world: World, chance: random.Random) -> None:
    """A timer is gone."""
    if row := _pending(world, chance):
        world.owed.discard(row.id)
        if world.lane.cancel(world.queue(row), [row.id], key=row.flow_key)[0]:
            world.met.note(Sometimes.TIMER_LOST)
            world.tell(f"the timer of {world.name(row.id)} is gone")


def early_timer(world: World, chance: random.Random) -> None:
    """A timer fires before its row is due."""
    row = _pending(world, chance)
    if row is not None and row.next_run_ms > world.now_ms:
        if chance.random() < 0.5:
            world.move(max(0, row.next_run_ms - world.now_ms - chance.choice([1, 300, 900])))
        world.lane.ensure(world.queue(row), [(row.id, world.now_ms)], key=row.flow_key)
        world.met.note(Sometimes.TIMER_EARLY)
        world.tell(f"a timer of {world.name(row.id)} fires now")
        ((_, at_ms),) = world.timers([row])
        if at_ms is None or at_ms > world.now_ms:
            raise Broken(f"a timer that is ensured for now fires later: {world.name(row.id)}")
        if chance.random() < 0.5:
            # A loader has read the row before it was moved to where it is.
            late = [(row.id, row.next_run_ms + 5000)]
            world.lane.ensure(world.queue(row), late, step=chance.choice([2, 9]), key=row.flow_key)
            world.tell("and a loader that was late ensures it for later")
            if world.timers([row])[0][1] != at_ms:
                raise Broken(f"a timer that is ensured for later does not stay: {world.name(row.id)}")


def doubled_timer(world: World, chance: random.Random) -> None:
    """A job has a second timer, with those of another biz type."""
    row = _pending(world, chance)
    if row is not None:
        code = chance.choice([code for code in KINDS if code not in (world.kind(row).code, "narrow")])
        world.lane.ensure(world.site.biz_type(KINDS[code]).queue, [(row.id, world.now_ms)])
        world.met.note(Sometimes.TIMER_DOUBLED)
        world.tell(f"{world.name(row.id)} has a timer of {code} too")


def stray_timer(world: World, chance: random.Random) -> None:
    """A timer stands for a job that runs, has ended, or never was."""
    rows = world.with_status("running", "succeeded", "cancelled", "dead", "skipped")
    queue, job_id, key = world.site.biz_type(KINDS[FOLLOWER]).queue, str(UUID(int=chance.randrange(1 << 60))), ""
    if rows:
        row = chance.choice(rows)
        queue, job_id, key = world.queue(row), row.id, row.flow_key
    world.lane.ensure(queue, [(job_id, world.now_ms)], key=key)
    world.met.note(Sometimes.TIMER_STRAY)
    world.tell(f"a timer stands for {world.name(job_id)}, which does not wait")


def _pending(world: World, chance: random.Random) -> Row | None:
    rows = world.with_status("pending")
    return chance.choice(rows) if rows else None


# ---------------------------------------------------------------- Redis goes back


def save(world: World, chance: random.Random) -> None:
    """The state of Redis so far is on the disk, or with the replica."""
    del chance
    if world.setting.goes_back:
        world.saved = snapshot(world.site.client)
        world.tell("Redis saves this state")


def go_back(world: World, chance: random.Random) -> None:
    """Redis ends, and begins again with what was saved, or with nothing."""
    if not world.setting.goes_back:
        return
    if world.saved is not None and chance.random() < 0.7:
        put_back(world.site.client, world.saved)
        world.is_empty = False  # with what was saved, the loader may have all it needs
        world.met.note(Sometimes.WENT_BACK)
        world.tell("Redis goes back to the state that was saved")
    else:
        world.site.client.flushall()
        world.is_empty = True
        world.met.note(Sometimes.FLUSHED)
        world.tell("Redis loses all that it had")
    world.owed.clear()
    world.has_forgotten, world.are_places_known = True, False
    world.time.move(1)
