"""The laws of rows and calls: what has changed is what the verb may change; a call is due and allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from proof.broken import Broken
from proof.jobs.kinds import TIMEOUT_SECONDS
from proof.jobs.ledger import Expected
from proof.jobs.lines import line_of
from proof.jobs.oracle import ENDS, Fate
from proof.jobs.places import check_call
from proof.jobs.rows import Row
from proof.jobs.site import WINDOW_SECONDS
from proof.jobs.sometimes import Sometimes
from tasksapp.delivery.callback import Callback

if TYPE_CHECKING:
    from proof.jobs.world import World

#: What is due later has no timer: beyond the near window, with the margin that those who create have.
FAR_MS = int(WINDOW_SECONDS * 1000) + 40_000


def check_form(world: World, before: Row | None, after: Row) -> None:
    """Raises Broken where the columns of a row do not fit each other; notes what became of it."""
    name, is_running = world.name(after.id), after.status == "running"
    if (after.token is not None) != is_running or bool(after.lease_ms) != is_running:
        raise Broken(f"a lease that fits no status: {name} is {after.status}")
    if bool(after.finished_ms) != (after.status in ENDS):
        raise Broken(f"an end that fits no status: {name} is {after.status}")
    if is_running and after.debounce_key:
        raise Broken(f"it runs, and another may still take its place: {name}")
    if before is None:
        if after.status in ENDS:
            world.bar(after, f"it was {after.status}")
        return
    if is_running:
        world.facts[after.id].has_begun = True
    if before.status != after.status:
        _note_status(world, before, after)
    if before.status != after.status and after.version <= before.version:
        raise Broken(f"another status, and the same version: {name}")
    if before.status != after.status and after.status in ("succeeded", "dead"):
        world.met.note(Sometimes.SUCCEEDED if after.status == "succeeded" else Sometimes.DIED)
    if before.operation_id is not None and before.status != after.status:
        counts = world.operations[before.operation_id]
        counts[after.status] += after.status in ("succeeded", "dead")
        world.met.note(Sometimes.COUNTED)
        world.is_counted = world.is_counted and not world.happened


def _note_status(world: World, before: Row, after: Row) -> None:
    fact = world.facts[after.id]
    if after.status in ENDS:
        world.bar(after, f"it was {after.status}")
    elif before.status == "dead":
        fact.barred, fact.allowed, fact.calls = "", None, 0


def check_one(world: World, rows: Sequence[Row]) -> None:
    """Raises Broken where more jobs of a biz id are live, or have begun and not ended, than its biz type keeps."""
    for row in rows:
        kind = world.kind(row)
        if row.status in ENDS or not (kind.keeps_one or kind.keeps_last):
            continue
        live = [row, *world.of_biz_id(row)]
        if len(live) > 1 + kind.keeps_last:
            raise Broken(f"more jobs of a biz id than may be: {world.told(each.id for each in live)}")
        begun = [each.id for each in live if each.status == "running" or world.facts[each.id].has_begun]
        if len(begun) > 1:
            raise Broken(f"begun beside another of its biz id: {world.told(begun)}")


def check_fate(world: World, before: Row, after: Row, fates: Sequence[Fate]) -> None:
    """Raises Broken where a row became what the verb may not make of it."""
    complaints = [fate.complaint(after) for fate in fates]
    if not complaints:
        raise Broken(f"changed, though nobody did that: {world.name(after.id)} from {before.status} to {after.status}")
    if all(complaints):
        raise Broken(f"changed to what it must not become: {world.name(after.id)}, {complaints[0]}")


def check_begin(world: World, callback: Callback) -> None:
    """Raises Broken where the first byte of this callback must not be sent now; else counts it."""
    job_id, name = callback.job_id, world.name(callback.job_id)
    row, fact = world.rows.by_id[job_id], world.facts[job_id]
    world.met.note(Sometimes.CALLED)
    world.begun.append(callback)
    if row.next_run_ms > world.now_ms:
        raise Broken(f"called early: {name} by {row.next_run_ms - world.now_ms} ms")
    if fact.barred and callback.token != fact.allowed:
        raise Broken(f"called after {fact.barred}: {name}")
    if world.kind(row).is_once and fact.calls:
        raise Broken(f"called twice, though at most once was promised: {name}")
    for call in (call for worker in world.workers for call in worker.receiver.open):
        if call.job_id == job_id and call.callback.lease_ends > world.clock.monotonic():
            raise Broken(f"called while another has its lease: {name}")
    check_call(world, row)
    if fact.calls:
        world.met.note(Sometimes.CALLED_AGAIN)
    fact.calls += 1


def check_leases(world: World) -> None:
    """Raises Broken where a callback has begun without a lease that outlives it."""
    begun, world.begun = world.begun, []
    for callback in begun:
        row, name = world.rows.by_id[callback.job_id], world.name(callback.job_id)
        if row.token != callback.token:
            raise Broken(f"called by a lease that was lost: {name}")
        if row.lease_ms < world.now_ms + TIMEOUT_SECONDS * 1000:
            raise Broken(f"called though its lease may end before its timeout: {name}")


def check_timer(world: World, before: Row | None, after: Row, *, is_put: bool) -> None:
    """Raises Broken where a timer is not just where the row wants it: none beyond the near window, none after the end.

    Args:
        world: the history.
        before: the row as it was.
        after: the row as it is.
        is_put: whether the verb puts timers, so that it matters neither where they were nor who held them.
    """
    is_far = after.status == "pending" and after.next_run_ms > world.now_ms + FAR_MS
    is_over = is_put and before is not None and before.status == "pending" and after.status in ENDS
    is_moved = is_put and before is not None and after.status == "pending"
    if line_of(world, after) is not None:
        is_far = is_moved = False  # a timer that fires early finds out; that of the first is looked at with all others
    if not (is_far or is_over or is_moved):
        return
    ((_, at_ms),) = world.timers([after])
    if (is_far or is_over) and at_ms is not None:
        raise Broken(f"it keeps a timer: {world.name(after.id)} is {after.status}")
    is_near = after.next_run_ms <= world.now_ms + int(WINDOW_SECONDS * 1000)
    if is_moved and is_near and at_ms != after.next_run_ms:
        raise Broken(f"its timer is not where its row is: {world.name(after.id)}")
    if is_moved and is_near and _count_timers(world, after) != 1:
        raise Broken(f"its timer is in two sets of its queue: {world.name(after.id)}")


def _count_timers(world: World, row: Row) -> int:
    """In how many sets of its queue, one for each priority, the timer of a row waits."""
    client, waiting = world.site.client, world.lane.keys.queue(world.queue(row)).waiting
    return sum(client.zscore(key, row.id) is not None for key in client.keys(f"{waiting}*"))


def _is_followed(world: World, row: Row) -> bool:
    """Whether a job has to follow, by how this one has ended: of one that was called off, where it took an answer."""
    kind = world.kind(row)
    if row.status == "cancelled":
        return kind.hears and world.answered.get((row.biz_type_id, row.biz_id)) == row.id
    return row.status in kind.follows


def check_answer(world: World, follower: Row) -> None:
    """Raises Broken where a follow-up was made of an answer that was another's, or too late, or none."""
    said, job = follower.followed, world.rows.by_id[follower.follows]
    is_called_off = job.status == "cancelled"
    if is_called_off is not ("answer" in said):
        raise Broken(f"it follows a job that is {job.status}, and not by what was answered: {world.name(follower.id)}")
    answer = said.get("answer") or said.get("late_answer")
    if answer is None:
        return
    world.met.note(Sometimes.ANSWERED if is_called_off else Sometimes.ANSWERED_LATE)
    key = job.biz_type_id, job.biz_id, answer["at"]
    if key in world.answers_taken:
        raise Broken(f"an answer is taken twice: {world.name(job.id)}")
    world.answers_taken.add(key)


def check_new(
    world: World, fresh: Sequence[Row], changed: Mapping[str, tuple[Row | None, Row]], expected: Expected
) -> None:
    """Raises Broken where a new row is none that the verb may make, or an end has not just one follower."""
    follows = Counter(row.follows for row in fresh if row.follows)
    ended = Counter(
        after.id
        for before, after in changed.values()
        if (before is None or before.status != after.status) and _is_followed(world, after)
    )
    if follows != ended:
        raise Broken(f"follow-ups: {world.told(follows.elements())} instead of {world.told(ended.elements())}")
    if follows:
        world.met.note(Sometimes.FOLLOWED)
    for row in fresh:
        if row.follows:
            check_answer(world, row)
            continue
        wrong = "nobody asked for it" if expected.new is None else expected.new(row)
        if wrong:
            raise Broken(f"a new row that must not be: {world.name(row.id)}, {wrong}")
