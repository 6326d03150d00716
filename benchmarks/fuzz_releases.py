"""Do the scripts of this release and those of the one before keep the law of conservation on one queue?

Question: random histories over messages with limits of tasks and flow keys, places in flight, unique keys, early
    acknowledgements, copies and retries; each verb is run by either release, and whatever a consumer does with its
    lease by the release that claimed it. Is a message ever lost, or in two places at once? In the end the limits in
    flight stay, all others are lifted, and this release takes what is left: does it get everything, is anything left in
    Redis then, and was anything put right? Before the first release, the one before is the last commit.
Machine: whatever runs it.
Command: make chaos NAME=releases [OPTIONS="--ref commit"]
Result: what went wrong, with the seed of its history, and one JSON line; exit code 0 only if nothing did.
Caveat: limits, unique keys and retries under a key are set by this release alone.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import redis

from benchmarks.chaos_upgrade import tree_of
from benchmarks.release_scripts import Release, last_release, sources_of
from benchmarks.result import Result, option
from delayhub.engine import DelayQueue, EngineOptions, Entry, Lease, Place
from delayhub.engine.keys import MAX_STEPS
from delayhub.engine.limits import SET, SET_AT_ONCE, Limit, set_limits
from delayhub.engine.scripts import names, script
from delayhub.engine.unique import UniqueKey, Until, WhenTaken, free_key, offer
from delayhub.local.redis_server import RedisServer

OLD, NEW = "earlier", "new"
FAR = 4_000_000_000_000
TASKS = ("shop.a", "shop.b")
IDS = tuple(f"id{number}" for number in range(4))
KEYS = (None, None, "k1", "k2")
#: Between two starts: none for the rest of the history, or at once again.
INTERVALS = (10**13, 1)
#: Verbs of which some histories have many.
RARE = ("do_limit", "do_cancel", "do_reschedule", "do_reap", "do_discard", "do_offer")
FINISHES = ["acknowledge", "acknowledge", "retry", "release", "delay", "extend", "lapse", "bury", "strike", "start"]
#: So many claims take all that one history has left.
CLAIMS = 100
#: What stays of a queue that has nothing: limits, and keys of its lane.
STAYS = (":limits", ":limited", ":@wake", ":@token", ":@alarm", ":tat", ":revoked")


class Broken(AssertionError):
    """A history broke the law."""


class History:
    """One history on an empty server, by a seed."""

    def __init__(self, client: redis.Redis, releases: dict[str, Release], seed: int) -> None:
        client.flushall()
        self.client = client
        self.releases = releases
        self.chance = random.Random(seed)
        #: Histories differ in what they do most, and which part of it the release before does.
        self.share = self.chance.choice((0.15, 0.3, 0.5))
        self.weights = {"do_publish": 5, "do_claim": 5, "do_finish": 5, self.chance.choice(RARE): 5}
        self.queue = DelayQueue(client, "q", options=EngineOptions(max_strikes=4))
        #: Of each lease, which release claimed it.
        self.leases: dict[Lease, str] = {}
        #: Acknowledged by this release, which left them to a consumer that has them by a newer lease.
        self.ended_late: set[str] = set()
        self.started_early: set[Lease] = set()
        self.number = 0
        self.log: list[str] = []

    # ------------------------------------------------------------ the verbs

    def go(self, steps: int) -> None:
        """Runs the history.

        Raises:
            Broken: it broke the law.
        """
        if self.chance.random() < 0.5:
            for task in TASKS:
                set_limits(self.queue, SET, {task + "\0": Limit(10**13)})
        verbs = [name for name in dir(self) if name.startswith("do_")]
        weights = [self.weights.get(name, 1) for name in verbs]
        for _ in range(steps):
            (verb,) = self.chance.choices(verbs, weights)
            before = self.payloads()
            may_go = getattr(self, verb)(OLD if self.chance.random() < self.share else NEW)
            lost = before - self.payloads() - (may_go or set())
            if lost:
                raise Broken(f"lost: {sorted(lost)}")
            self.check()
        self.drain()

    def run(self, release: str, verb: str, *args: Any, lane: bool = True) -> Any:
        """A verb of a release on the queue."""
        self.log.append(f"{release} {verb} {' '.join(map(str, args))}")
        keys = [self.queue.keys.base, self.queue.lane_keys.base]
        return self.releases[release].run(verb, keys if lane else keys[:1], *args)

    def payload(self) -> bytes:
        """A new message."""
        self.number += 1
        key = self.chance.choice(KEYS)
        header = f',"x-delayhub-key":"{key}"' if key else ""
        return f'{{"headers":{{"task":"{self.chance.choice(TASKS)}"{header}}},"body":"<{self.number}>"}}'.encode()

    def do_publish(self, release: str) -> None:
        due, step = self.chance.choice((0, 0, FAR)), self.chance.randrange(2)
        self.run(release, "schedule", "new", self.chance.choice(IDS), due, step, self.payload(), f"<{self.number}>")

    def do_offer(self, _: str) -> set[str] | None:
        unique = UniqueKey(
            key=self.chance.choice(("u1", "u2")),
            until=self.chance.choice((Until.END, Until.END, Until.START)),
            when_taken=self.chance.choice(list(WhenTaken)),
        )
        entry = Entry(self.chance.choice(IDS), self.chance.choice((0, FAR)), self.payload())
        self.log.append(f"offer {entry.id} {entry.due_ms} {unique.key} {unique.until} {unique.when_taken}")
        before = self.payloads()
        found = offer(self.queue, entry, unique)
        if found.outcome != "replaced":
            return None
        return {name for name in before - self.payloads() if name.partition("#")[0] == found.replaced_id}

    def do_limit(self, _: str) -> None:
        task = self.chance.choice(TASKS)
        interval = self.chance.choice((None, *INTERVALS))
        kind = self.chance.choice(("rate", "rate of keys", "at once", "at once of keys"))
        if "keys" in kind:
            task += "\0"
        limit: Any = None if interval is None else Limit(interval)
        layer = SET
        if "at once" in kind:
            layer, limit = SET_AT_ONCE, self.chance.choice((None, Limit(1), Limit(2)))
        self.log.append(f"new set_limits {layer} {task!r} {limit}")
        set_limits(self.queue, layer, {task: limit})

    def do_claim(self, release: str) -> set[str]:
        limit, free = self.chance.randrange(5), self.chance.randrange(4)
        lease_ms = self.chance.choice((0, 60_000, 60_000))
        may_go = self.started()
        acks = self.some_leases(release) if self.chance.random() < 0.3 else []
        flat = [part for lease in acks for part in (lease.id, lease.token)]
        args = ["c", lease_ms, limit, free, 512_000, 4, 0, len(acks), *flat]
        self.log.append(f"{release} claim {args}")
        held = self.leased(alive=True) - {lease.id for lease in acks}
        reply = self.releases[release].run("claim", [self.queue.lane_keys.base, self.queue.keys.base], *args)
        self.note_ended(acks)
        for _, token, flat_entries, *_ in reply[5]:
            for entry_id in flat_entries[::2]:
                self.leases[self.queue.lease(entry_id.decode(), token)] = release
        gave = [entry.decode() for gave in reply[5] for entry in gave[2][::2]]
        self.log.append(f"  gave {gave}")
        if twice := held & set(gave):
            raise Broken(f"given twice: {sorted(twice)}")
        return may_go | {lease.id for lease in acks}

    def do_finish(self, _: str) -> set[str] | None:
        if not self.leases:
            return None
        lease, release = self.chance.choice(list(self.leases.items())[-6:])
        pair = (lease.id, lease.token)
        verb = self.chance.choice(FINISHES)
        started = self.started()
        match verb:
            case "acknowledge" | "retry":
                if verb == "retry":
                    self.retry(release, lease)
                self.run(release, "acknowledge", *pair)
                self.note_ended([lease])
                return {lease.id}
            case "release" | "delay":
                self.run(release, "release", 10**9 if verb == "delay" else 0, 1, *pair)
                return started
            case "extend":
                self.run(release, verb, 60_000, *pair)
            case "lapse":
                self.run(release, "extend", 0, *pair)
            case "bury":
                self.run(release, verb, "because", *pair)
                return started
            case "strike":
                self.run(release, verb, 4, "because", *pair)
                return started
            case "start":
                self.run(release, verb, *pair, lane=False)
                self.started_early.add(lease)
        return None

    def retry(self, release: str, lease: Lease) -> None:
        """The task publishes itself once more, as Celery's retry does: by the same id."""
        base = lease.id.partition("#")[0]
        stored: Any = self.client.hget(self.queue.keys.payload, lease.id)
        payload = stored or self.payload()
        self.number += 1
        token = f"<{self.number}>"
        payload = payload.partition(b'"body"')[0] + f'"body":"{token}"}}'.encode()
        due = self.chance.choice((0, FAR))
        about: Any = self.client.hget(self.queue.keys.unique, f"id:{lease.id}")
        if about:
            unique = UniqueKey(
                key=about.decode().split(":", 2)[2], when_taken=WhenTaken.CONTINUE, continued=lease.token
            )
            self.log.append(f"retry {base} {due} {unique.key}")
            offer(self.queue, Entry(base, due, payload), unique)
        else:
            self.run(release, "schedule", "new", base, due, 0, payload, token)

    def do_reap(self, release: str) -> set[str]:
        started = self.started()
        self.run(release, "reap", 100, 4)
        return started

    def do_cancel(self, release: str) -> set[str]:
        name = self.chance.choice(IDS)
        may_go = self.named(name)
        self.run(release, "cancel", 0, 0, 50, name, lane=False)
        return may_go

    def do_discard(self, release: str) -> set[str]:
        name = self.chance.choice(sorted(self.payloads()) or list(IDS))
        self.run(release, "discard", name, lane=False)
        return {name}

    def do_reschedule(self, release: str) -> None:
        self.run(release, "reschedule", self.chance.choice((0, FAR)), 0, 50, self.chance.choice(IDS))

    def do_redrive(self, release: str) -> None:
        self.run(release, "redrive", 100)

    def do_purge(self, release: str) -> set[str] | None:
        if self.chance.random() < 0.7:
            return None
        may_go = self.payloads() - self.leased()
        verb = self.chance.choice(("purge", "purge_some"))
        self.run(release, verb, 500, lane=False)
        return may_go

    def do_free_key(self, _: str) -> None:
        if self.chance.random() < 0.3:
            self.log.append("free_key")
            free_key(self.queue, self.chance.choice(("u1", "u2")))

    # ------------------------------------------------------------ the law

    def payloads(self) -> set[str]:
        return {name.decode() for name in self.client.hkeys(self.queue.keys.payload)}

    def leased(self, *, alive: bool = False) -> set[str]:
        """What consumers hold; alive: by leases that last a while."""
        seconds, _ = self.client.time()
        found: Any = self.client.zrangebyscore(self.queue.keys.leased, seconds * 1000 + 20_000 if alive else 0, "+inf")
        return {name.decode() for name in found}

    def named(self, name: str) -> set[str]:
        return {found for found in self.payloads() if found.partition("#")[0] == name}

    def note_ended(self, leases: Iterable[Lease]) -> None:
        """Those that are there after their acknowledgement, another holds."""
        self.ended_late |= {lease.id for lease in leases} & self.payloads()

    def started(self) -> set[str]:
        """Those that a consumer has acknowledged early, or after it had lost its lease: gone with it."""
        return {lease.id for lease in self.leases if self.is_started(lease)}

    def is_started(self, lease: Lease) -> bool:
        holder: Any = self.client.hget(self.queue.keys.holder, lease.id)
        if not holder or int(holder.partition(b":")[0]) != lease.token:
            return False
        return lease.id in self.ended_late or lease in self.started_early

    def some_leases(self, release: str) -> list[Lease]:
        own = [lease for lease, by in self.leases.items() if by == release][-4:]
        return self.chance.sample(own, self.chance.randrange(len(own) + 1))

    def places(self) -> Counter[str]:
        """In how many sets each id is."""
        keys = [self.queue.keys.waiting, self.queue.keys.leased, self.queue.keys.dead]
        keys += [self.queue.keys.ready(step) for step in range(MAX_STEPS)]
        keys += [key.decode() for key in self.client.keys(self.queue.keys.parked_by("*"))]
        return Counter(name.decode() for key in keys for name in self.client.zrange(key, 0, -1))

    def check(self) -> None:
        """What is true between any two verbs."""
        places, payloads = self.places(), self.payloads()
        if twice := {name for name, count in places.items() if count > 1}:
            raise Broken(f"in two places: {sorted(twice)}")
        if gone := payloads - places.keys():
            raise Broken(f"in no place: {sorted(gone)}")
        if empty := places.keys() - payloads:
            raise Broken(f"without a message: {sorted(empty)}")
        lost, struck = (set(self.client.hkeys(key)) for key in (self.queue.keys.lost, self.queue.keys.strikes))
        if lost - struck:
            raise Broken(f"lost leases without strikes: {lost - struck}")

    def drain(self) -> None:
        """This release takes what is left, and nothing else is."""
        for task in TASKS:
            set_limits(self.queue, SET, {task: None, task + "\0": None})
        self.run(NEW, "redrive", 1000)
        for _ in range(CLAIMS):
            ids = [listed.id for place in (Place.WAITING, Place.DEAD) for listed in self.queue.list(place, limit=1000)]
            self.queue.reschedule([name.partition("#")[0] for name in ids], due_ms=0)
            self.end_all()
            claim = self.queue.claim(3, free=3)
            self.queue.acknowledge([self.queue.lease(entry.id, entry.token) for entry in claim.entries])
        if sum(self.queue.count()):
            raise Broken(f"not drained: {self.queue.count()} {sorted(self.payloads())}")
        left = {key.decode() for key in self.client.keys("*")}
        if found := {key for key in left if not key.endswith(STAYS)}:
            raise Broken(f"left in Redis: {sorted(found)} {self.client.hgetall(self.queue.keys.unique)}")

    def end_all(self) -> None:
        """Acknowledges what consumers hold."""
        held: Any = self.client.hgetall(self.queue.keys.holder)
        pairs = [(name.decode(), int(value.partition(b":")[0])) for name, value in held.items()]
        self.queue.acknowledge([self.queue.lease(name, token) for name, token in pairs])


def main(given: argparse.Namespace) -> Result:
    """Runs the histories."""
    own = {name: script(name).source for name in names()}
    with tempfile.TemporaryDirectory() as folder, RedisServer() as server, server.client() as client:
        earlier = own if given.alone else sources_of(tree_of(given.ref, Path(folder) / "earlier"))
        releases = {OLD: Release(client, earlier), NEW: Release(client, own)}
        wrong: Counter[str] = Counter()
        for seed in range(given.first, given.first + given.histories):
            history = History(client, releases, seed)
            try:
                history.go(given.steps)
            except (Broken, redis.ResponseError) as error:
                wrong[str(error).partition(":")[0]] += 1
                if sum(wrong.values()) <= 15:
                    print(f"seed {seed}: {error}", flush=True)
                    if given.show:
                        print("\n".join(history.log))
    return Result({"histories": given.histories, "wrong": dict(wrong)}, not wrong and given.histories > 0)


OPTIONS = [
    option("--ref", last_release(), "the commit of the release before"),
    option("--histories", 1000, "how many"),
    option("--steps", 60, "verbs in each"),
    option("--first", 1, "the seed of the first"),
    option("--alone", action="store_true", help="all by this release"),
    option("--show", action="store_true", help="what each broken history did"),
]
