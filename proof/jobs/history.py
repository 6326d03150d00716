"""A history of jobs: verbs by chance from a seed, with troubles on the wire, and a drain."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

from proof.broken import Broken
from proof.jobs import answering, asking, creating, mending, working
from proof.jobs.ledger import Setting
from proof.jobs.site import USING, Site
from proof.jobs.sometimes import Sometimes
from proof.jobs.themes import THEMES
from proof.jobs.world import WORKERS, World
from proof.met import Met
from proof.plan import Failure, Plan, Step, shrunk
from proof.virtual_time import CLOCK
from tasksapp.models import Attempt, Operation
from tasksapp.timers.slots import held_slots

Verb = Callable[[World, random.Random], None]


def pass_time(world: World, chance: random.Random) -> None:
    """Time passes: until something is due, or a lease ends, or by chance."""
    now_ms = world.now_ms
    moments = [row.next_run_ms for row in world.with_status("pending")]
    for row in world.with_status("running"):
        moments += [row.lease_ms - 2000, row.lease_ms + 1]
    moments = sorted({at for at in moments if at > now_ms})
    if moments and chance.random() < 0.6:
        world.move(chance.choice(moments[:2]) - now_ms)
    else:
        longest_ms = world.setting.longest_ms or chance.choice([16_000, 31_000, 70_000, 650_000])
        world.move(chance.choice([1, 300, 1000, 2500, 4000, 9000, longest_ms]))


#: Each verb, and of a hundred how many it is about.
VERBS: dict[str, tuple[Verb, int]] = {
    "create": (creating.create, 14),
    "serve": (working.serve, 18),
    "work": (working.work, 9),
    "go_on": (working.go_on, 4),
    "answer": (answering.answer, 6),
    "write": (answering.write, 8),
    "pass_time": (pass_time, 14),
    "load": (mending.load, 6),
    "cancel": (asking.cancel, 2),
    "reschedule": (asking.reschedule, 2),
    "edit": (asking.edit, 2),
    "run_now": (asking.run_now, 1),
    "redrive": (asking.redrive, 5),
    "drop": (asking.drop, 1),
    "bulk": (asking.bulk, 2),
    "resolve": (asking.resolve, 4),
    "lift": (asking.lift, 1),
    "operate": (asking.operate, 2),
    "crash": (working.crash, 2),
    "stand_still": (mending.stand_still, 6),
    "outage": (mending.outage, 1),
    "lose_timer": (mending.lose_timer, 1),
    "early_timer": (mending.early_timer, 1),
    "doubled_timer": (mending.doubled_timer, 1),
    "stray_timer": (mending.stray_timer, 1),
    "save": (mending.save, 2),
    "go_back": (mending.go_back, 1),
}
#: Rounds of a drain after which something is stuck.
ROUNDS = 80
#: How long a round waits where nothing says when to look again.
LONGEST_WAIT_MS = 31_000
#: A slot is looked at when it was taken longer ago than a timer's lease, and a margin.
SLOT_LEAKED_MS = working.TIMER_LEASE_MS + 11_000
#: What Redis keeps where there are no timers: gates, what lanes and loaders have of their own, and the clock.
STAYS = (
    ":gate", ":@wake", ":@token", ":@alarm", ":@agenda", ":@loader", ":@epoch", ":@database", ":@claimed", ":@healed",
    "delayhub:queues", ":breaker", CLOCK,
)  # fmt: skip


def drawn(seed: int, theme: str = "") -> Plan[Setting]:
    """The plan of a seed: histories differ in length, in which verbs they have most, and half of them have a theme.

    Args:
        seed: the same makes the same history.
        theme: the name of the theme that it has; '' where the seed says that, too.
    """
    chance = random.Random(seed)
    name = chance.choice([theme] if theme else ["", *THEMES])
    about = THEMES.get(name) if theme or chance.random() < 0.6 else None
    setting = Setting.drawn(chance, about)
    weights = [weight * chance.choice([1, 1, 0.2, 3]) for _, weight in VERBS.values()]
    if about is not None:
        weights = [weight * about.verbs.get(verb, 0.5) for verb, (_, weight) in VERBS.items()]
    verbs = chance.choices(list(VERBS), weights, k=chance.choice([8, 16, 40]))
    verbs[0] = "create"
    return Plan(seed, setting, tuple(Step(verb, chance.randrange(1 << 30)) for verb in verbs))


class Player:
    """Plays histories on one site.

    Args:
        site: where they happen.
        met: what all histories of the run came by.
    """

    def __init__(self, site: Site, met: Met) -> None:
        self.site, self.met = site, met
        self.verbs = 0

    def play(self, plan: Plan[Setting]) -> Failure[Setting] | None:
        """How a history went wrong; None where it kept all laws."""
        world = World(self.site, plan.setting, self.met)
        try:
            for step in plan.steps:
                self.verbs += 1
                world.chance = random.Random(step.number)
                VERBS[step.verb][0](world, world.chance)
            drain(world)
        except Broken as broken:
            return Failure(plan, broken, [*world.story, f"→ {broken}"])
        finally:
            for number in range(WORKERS):
                world.end_worker(number)
        return None

    def shrink(self, failure: Failure[Setting]) -> Failure[Setting]:
        """The shortest history found that breaks the same law."""
        return shrunk(failure, self.play)


def drain(world: World) -> None:
    """All is done that is left: first without the loader, as far as timers are there, then with it.

    Raises:
        Broken: something is stuck, or left behind.
    """
    world.tell("from here on all goes well")
    world.chance = random.Random(0)
    if not world.setting.has_loader:
        _go_round(world, has_loader=False)
        world.met.note(Sometimes.WITHOUT_LOADER)
    world.loader = world.new_loader()
    _go_round(world, has_loader=True)
    _check_counts(world)
    _check_redis(world)


def _go_round(world: World, *, has_loader: bool) -> None:
    for _ in range(ROUNDS):
        if not _is_left(world, has_loader=has_loader):
            return
        asking.drop_blockers(world)
        if _serve(world):
            continue
        if has_loader:
            mending.turn(world, steady=True)
            if _serve(world):
                continue
        held_slots.free()
        _wait(world, has_loader=has_loader)
    rows = world.live() if has_loader else [world.rows.by_id[job_id] for job_id in world.owed]
    raise Broken(f"stuck: {', '.join(f'{world.name(row.id)} is {row.status}' for row in rows)}")


def _serve(world: World) -> bool:
    """Workers end what they hold, and one takes all timers that are due; whether there were any."""
    for number, worker in enumerate(world.workers):
        while True:
            for call in list(worker.receiver.open):
                answering.say(world, worker, call, "200")
            if not answering.write_of(world, number, steady=True):
                break
        for taken in list(worker.taken):
            if taken.is_delivered or working.deliver(world, number, taken, steady=True):
                working.acknowledge(world, number, taken, steady=True)
    taken = working.take(world, 0, working.ALL, steady=True)
    return taken is not None and working.deliver(world, 0, taken, steady=True)


def _is_left(world: World, *, has_loader: bool) -> bool:
    if any(worker.holds or worker.taken for worker in world.workers):
        return True
    if has_loader:
        return bool(world.live())
    # Who waits for a job that only the loader can bring back waits for the loader.
    return any(
        row.id in world.owed and not (row.waits and any(each.id not in world.owed for each in world.of_biz_id(row)))
        for row in world.live()
    )


def _wait(world: World, *, has_loader: bool) -> None:
    """Until the next moment at which anything can happen."""
    now_ms = world.now_ms
    pending = world.with_status("pending")
    moments = [row.next_run_ms for row in pending if row.next_run_ms > now_ms]
    moments += [row.lease_ms + 1 for row in world.with_status("running") if row.lease_ms >= now_ms]
    if len(moments) < len(world.live()):  # some are overdue: the loader brings their timers, or those are leased
        moments.append(now_ms + (mending.OVERDUE_MS + 1000 if has_loader else LONGEST_WAIT_MS))
    world.move(min(moments, default=now_ms + LONGEST_WAIT_MS) - now_ms)
    world.settle()


def _check_counts(world: World) -> None:
    """Attempts are logged once each, and operations have counted what became of their jobs."""
    logged = Counter(str(job_id) for job_id in Attempt.objects.using(USING).values_list("job_id", flat=True))
    tried = Counter({job_id: fact.tried for job_id, fact in world.facts.items() if fact.tried})
    if logged != tried:
        raise Broken("attempts are logged that were not made, or the other way round")
    if not world.is_counted:
        return
    for number, counts in world.operations.items():
        stored = Operation.objects.using(USING).get(pk=number)
        if (stored.succeeded, stored.dead) != (counts["succeeded"], counts["dead"]):
            raise Broken(f"an operation has counted {stored.succeeded} and {stored.dead} dead, not {dict(counts)}")


def _check_redis(world: World) -> None:
    _take_strays(world)
    if world.site.client.keys("*:in_flight"):
        # Who claimed these timers died, or did not hear of it: the loader looks for such slots, once they are old.
        world.move(SLOT_LEAKED_MS)
        mending.turn(world, steady=True)
        _take_strays(world)  # also those that had to wait for such a slot
    names = [key.decode() for key in world.site.client.keys("*")]
    left = sorted(name for name in names if not name.endswith(STAYS))
    if left:
        raise Broken(f"left behind: {', '.join(left)}")


def _take_strays(world: World) -> None:
    # Strays go with a claim, where a biz type has few places one at a time; what a claim finds empty it tidies up.
    for number in range(2 + len(world.rows.by_id)):
        if number >= 2 and not world.site.client.keys("*:waiting*"):  # those of a priority have a set of their own
            break
        found = working.take(world, 0, working.ALL, steady=True)
        if found is not None:
            working.deliver(world, 0, found, steady=True)
            working.acknowledge(world, 0, found, steady=True)
        world.move(LONGEST_WAIT_MS)
        held_slots.free()
