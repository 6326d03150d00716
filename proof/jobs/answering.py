"""Verbs of what follows a call: the receiver answers, and workers write what came of it, and renew leases."""

from __future__ import annotations

import random
from collections.abc import Sequence

from proof.broken import Broken
from proof.jobs.kinds import HELD_MS
from proof.jobs.ledger import Expected
from proof.jobs.oracle import ENDS, Answer, Fate, written
from proof.jobs.receiver import ANSWERS, Call, meaning
from proof.jobs.rows import Row
from proof.jobs.sometimes import Sometimes
from proof.jobs.wire import Died
from proof.jobs.worker import Worker
from proof.jobs.world import WORKERS, World
from tasksapp.delivery.outcomes import CallbackResult, Returned


def answer(world: World, chance: random.Random) -> None:
    """The receiver answers one of its callbacks."""
    calls = [(worker, call) for worker in world.workers for call in worker.receiver.open]
    if calls:
        answer_one(world, chance, *chance.choice(calls))


def answer_one(world: World, chance: random.Random, worker: Worker, call: Call) -> None:
    """The receiver answers that one, by chance."""
    weights = [weight for *_, weight in ANSWERS.values()]
    (name,) = chance.choices(list(ANSWERS), weights)
    if world.setting.says and chance.random() < 0.5:
        name = world.setting.says
    say(world, worker, call, name)


def say(world: World, worker: Worker, call: Call, name: str) -> None:
    """The receiver gives that answer."""
    world.facts[call.job_id].answers[call.callback.token] = name
    worker.receiver.answer(call, name)
    world.tell(f"the receiver answers {name} to {world.name(call.job_id)} of {worker.name}")
    world.site.go_on()
    world.settle()


def write(world: World, chance: random.Random) -> None:
    """A worker's outcome writer has its turn."""
    write_of(world, chance.randrange(WORKERS))


def write_of(world: World, number: int, *, steady: bool = False) -> bool:
    """The same; whether it wrote, or renewed, anything."""
    worker, now_ms = world.workers[number], world.now_ms
    reported = worker.reported
    if not reported and not (worker.renews and worker.holds):
        return False
    renewals: dict[str, Fate] = {}
    held = {callback.job_id: callback.token for callback in worker.holds}
    if worker.renews:
        for job_id, token in held.items():
            if world.rows.by_id[job_id].token == token:
                row = world.rows.by_id[job_id]
                renewals[job_id] = Fate("running", row.next_run_ms, row.attempts, now_ms + HELD_MS)
    fates = {job_id: [renewal] for job_id, renewal in renewals.items()}
    renewed = fates.keys() - {one.callback.job_id for one in reported}
    answers: dict[str, Answer] = {}
    for result in reported:
        _expect(world, result, fates, answers)
    called_off = _expect_called_off(world, reported, fates)
    done, wrong = world.do(worker.outcome_writer.run_once, steady=steady)
    world.tell(f"worker {number} writes {', '.join(_words(world, one) for one in reported) or 'renewals'}: {done}")
    if isinstance(wrong, Died):
        world.end_worker(number)
    elif not done and not world.happened:
        raise Broken("outcomes were not written, though the database answered")
    world.site.go_on()
    left = {(one.callback.job_id, one.callback.token) for one in worker.reported}
    may_stay = {one.callback.job_id for one in reported if (one.callback.job_id, one.callback.token) in left}
    for job_id in may_stay & renewals.keys():  # after a failure outcomes are written one by one; those left are renewed
        fates[job_id].append(renewals[job_id])
    may_stay |= {job_id for job_id in fates if job_id not in answers and job_id not in renewed | called_off}
    # A renewal of a lease that has just been renewed changes nothing.
    may_stay |= {job_id for job_id in renewed if world.rows.by_id[job_id].lease_ms == now_ms + HELD_MS}
    woken = {job_id for job_id in fates if world.rows.by_id[job_id].waits and job_id not in called_off}
    may_stay = (may_stay - woken) | {one for one in woken if world.rows.by_id[one].next_run_ms == now_ms}
    if woken:
        world.met.note(Sometimes.WOKEN)
    changed = world.settle(
        Expected(
            fates=fates,
            is_sure=bool(done) and not world.happened and not left,
            may_stay=frozenset(may_stay),
            puts_timers=True,
        )
    )
    if not isinstance(wrong, Died):
        for job_id, token in {(one.callback.job_id, one.callback.token) for one in reported} - left:
            if world.rows.by_id[job_id].token == token:
                raise Broken(f"an outcome is neither written nor kept for another try: {world.name(job_id)}")
    for job_id, (before, after) in changed.items():
        if before is not None and job_id in answers and before.status == "running" and after.status != "running":
            _note_written(world, after, answers[job_id])
    return True


def _words(world: World, result: CallbackResult) -> str:
    return f"{type(result.outcome).__name__} of {world.name(result.callback.job_id)}"


def _expect(world: World, result: CallbackResult, fates: dict[str, list[Fate]], answers: dict[str, Answer]) -> None:
    """Adds what becomes of a row by one outcome, and what that asks for."""
    job_id, token = result.callback.job_id, result.callback.token
    row, now_ms = world.rows.by_id[job_id], world.now_ms
    is_late = isinstance(result.outcome, Returned) and result.outcome.reason.startswith("its lease was too short")
    if is_late:
        world.met.note(Sometimes.LEASE_TOO_SHORT)
    found = meaning(result, world.facts[job_id].answers.get(token))
    if row.token != token:
        world.met.note(Sometimes.ZOMBIE_ANSWERED)
    else:
        fate = written(row, world.kind(row), found, now_ms=now_ms, is_resolved=world.is_resolved(row))
        fates[job_id], answers[job_id] = [fate], found
        if fate.status in ENDS and world.kind(row).keeps_last:
            for other in world.of_biz_id(row):
                if other.waits and other.due_ms <= now_ms:
                    fates[other.id] = [Fate("pending", now_ms, other.attempts)]


def _expect_called_off(world: World, reported: Sequence[CallbackResult], fates: dict[str, list[Fate]]) -> set[str]:
    """Adds what receivers asked for, also by an outcome that does not count: those that wait now, or wait again.

    Gives back those that waited before.
    """
    called_off = set()
    for result in reported:
        job_id, token = result.callback.job_id, result.callback.token
        row = world.rows.by_id[job_id]
        if not (row.biz_id and meaning(result, world.facts[job_id].answers.get(token)).calls_off):
            continue
        for other in world.rows.by_id.values():
            if (other.biz_type_id, other.biz_id) != (row.biz_type_id, row.biz_id) or other.id == job_id:
                continue
            if other.status == "pending":
                # One that waited for the end of another is woken first.
                fates[other.id] = [Fate("cancelled", attempts=other.attempts), *fates.get(other.id, ())]
                called_off.add(other.id)
                world.met.note(Sometimes.CALLED_OFF_BY_RECEIVER)
            else:
                again = [fate for fate in fates.get(other.id, ()) if fate.status == "pending"]
                for fate in again:
                    fates[other.id].append(Fate("cancelled", attempts=fate.attempts))
    return called_off


def _note_written(world: World, after: Row, answer: Answer) -> None:
    if answer.kind != "returned":
        world.facts[after.id].tried += 1
    if after.status == "cancelled":
        world.met.note(Sometimes.RESOLVED_RETRY)
    elif answer.kind == "unsent" and after.status == "pending" and world.kind(after).is_once:
        world.met.note(Sometimes.UNSENT)
    elif answer.kind == "failed" and after.status == "pending":
        world.met.note(Sometimes.RETRIED)
