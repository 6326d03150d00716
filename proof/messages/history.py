"""A history of messages: verbs by chance from a seed, and a drain; and the shortest that breaks the same law."""

from __future__ import annotations

import random
from collections.abc import Callable

from delayhub.engine import DelayQueue
from proof.broken import Broken
from proof.earlier_release import EarlierRelease
from proof.messages import claiming, consuming, producing
from proof.messages.ledger import Message
from proof.messages.places import check_nothing_left, look_command
from proof.messages.world import CONSUMERS, QUEUE, Setting, World
from proof.met import Met
from proof.plan import Failure, Plan, Step, shrunk
from proof.quick_redis import QuickRedis

Verb = Callable[[World, random.Random], None]


def pass_time(world: World, chance: random.Random) -> None:
    """Time passes, sometimes beyond a lease."""
    world.time.move(chance.choice([1, 7, 300, 2000, 4000, 11_000, chance.choice([300, 310_000])]))


def save(world: World, chance: random.Random) -> None:
    """The state so far is on the disk, or with the replica."""
    del chance
    if world.setting.goes_back:
        world.save()
        world.tell("Redis saves this state")


def go_back(world: World, chance: random.Random) -> None:
    """Redis ends, and begins again with what was saved."""
    del chance
    if world.go_back():
        world.tell("Redis goes back to the state that was saved")


#: Each verb, and of a hundred how many it is about.
VERBS: dict[str, tuple[Verb, int]] = {
    "publish": (producing.publish, 22),
    "claim": (claiming.claim, 20),
    "acknowledge": (consuming.acknowledge, 14),
    "pass_time": (pass_time, 16),
    "extend": (consuming.extend, 5),
    "give_back": (consuming.give_back, 4),
    "cancel": (producing.cancel, 4),
    "reschedule": (producing.reschedule, 4),
    "begin": (consuming.begin, 3),
    "retry": (consuming.retry, 3),
    "bury": (consuming.bury, 2),
    "strike": (consuming.strike, 2),
    "crash": (consuming.crash, 2),
    "save": (save, 2),
    "go_back": (go_back, 1),
    "redrive": (producing.redrive, 2),
    "reap": (consuming.reap, 1),
    "free": (producing.free, 1),
    "change_rates": (producing.change_rates, 1),
}
#: Verbs after which a message may be in line though the bell is silent: Redis forgot, or those who hold it look again.
UNHEARD = {"go_back", "change_rates"}
#: Claims in a row of the drain that may find nothing before something is stuck.
IDLE_CLAIMS = 40
LONGEST_WAIT_MS = 400_000


def drawn(seed: int) -> Plan[Setting]:
    """The plan of a seed: histories differ in length, and in which verbs they have most."""
    chance = random.Random(seed)
    setting = Setting.drawn(chance)
    weights = [weight * chance.choice([1, 1, 0.2, 3]) for _, weight in VERBS.values()]
    verbs = chance.choices(list(VERBS), weights, k=chance.choice([20, 60, 120]))
    return Plan(seed, setting, tuple(Step(verb, chance.randrange(1 << 30)) for verb in verbs))


class Player:
    """Plays histories on one server.

    Args:
        client: of an empty server, which reads the run's clock.
        met: what all histories of the run came by.
        earlier: a client with the scripts of an earlier release, which each history gives to some, by its seed.
    """

    def __init__(self, client: QuickRedis, met: Met, earlier: EarlierRelease | None = None) -> None:
        self.client, self.met, self.earlier = client, met, earlier
        self.verbs = 0
        client.send_behind(*look_command(DelayQueue(client, QUEUE)))

    def play(self, plan: Plan[Setting]) -> Failure[Setting] | None:
        """How a history went wrong; None where it kept all laws."""
        chance = random.Random(plan.seed)
        # The first consumer is this release's: it takes what is left in the end.
        others = [chance.choice((self.client, self.earlier or self.client)) for _ in range(CONSUMERS)]
        world = World(self.client, plan.setting, self.met, others=others)
        try:
            in_line = claiming.line(world)
            for step in plan.steps:
                in_line = self._act(world, step, in_line)
            drain(world)
        except Broken as broken:
            return Failure(plan, broken, [*world.story, f"→ {broken}"])
        return None

    def _act(self, world: World, step: Step, before: list[Message]) -> list[Message]:
        """Takes a step; what was in line before it, and what is after it."""
        self.verbs += 1
        now_ms = world.now_ms
        world.has_rung = False
        VERBS[step.verb][0](world, random.Random(step.number))
        world.check()
        in_line = claiming.line(world)
        come = [message.name for message in in_line if message not in before]
        is_heard = world.now_ms > now_ms or step.verb in UNHEARD or world.has_rung
        if come and not is_heard:
            raise Broken(f"nobody is woken: for {come}")
        return in_line

    def shrink(self, failure: Failure[Setting]) -> Failure[Setting]:
        """The shortest history found that breaks the same law."""
        return shrunk(failure, self.play)


def drain(world: World) -> None:
    """One consumer takes and ends all that is left, coming back when it is told to.

    Raises:
        Broken: something is stuck, lost, or left behind.
    """
    world.tell("all consumers crash, and one takes what is left")
    for holding in world.held:
        holding.clear()
    idle = 0
    while idle < IDLE_CLAIMS and world.look().taken:
        told = len(world.story)
        if world.seen.dead:
            producing.redrive(world, random.Random(0))
            world.check()
        found = claiming.take(world, 0, claiming.ALL, claiming.ALL)
        for held in world.held[0]:
            consuming.end(world, 0, held)
        world.held[0].clear()
        world.check()
        idle = 0 if found.entries else idle + 1
        if idle > 1:
            del world.story[told:]  # it went as the turn before
        nexts = [at for at in (found.come_back_ms, found.reopens_ms) if at is not None and at > world.now_ms]
        wait = min(nexts) - world.now_ms if nexts else LONGEST_WAIT_MS
        world.time.move(1 if found.more else min(wait, LONGEST_WAIT_MS))
    if sum(world.queue.count()):  # by what the product counts
        raise Broken(f"stuck: {world.queue.count()}")
    lost = [message.name for message in world.ledger.live() if not message.may_be_settled]
    if lost:
        raise Broken(f"lost: {lost}")
    for _ in range(2):  # a claim of an empty queue tidies up what may stay for a while
        world.queue.claim()
    check_nothing_left(world.client)
