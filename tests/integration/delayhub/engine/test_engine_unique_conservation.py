"""Random verbs over messages with unique keys: none is lost, no two of one key can run, and no key is left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from delayhub.engine import DelayQueue, EngineOptions, Entry, Lease, Place
from delayhub.engine.unique import UniqueKey, WhenTaken, offer, start
from tests.property_sizes import examples

FAR = 4_000_000_000_000
KEYS = st.sampled_from(["k1", "k2"])
MODES = st.sampled_from(WhenTaken)

_server: list[redis.Redis] = []


@pytest.fixture(autouse=True)
def server(redis_client: redis.Redis) -> Iterator[None]:
    _server.append(redis_client)
    yield
    _server.pop()


class UniqueConservation(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        (client,) = _server
        client.flushall()
        self.queue = DelayQueue(client, "q", options=EngineOptions(max_strikes=3))
        self.leases: list[Lease] = []
        self.number = 0
        #: Messages that are stored and not ended yet, as far as the test knows.
        self.alive: set[str] = set()

    @rule(key=KEYS, mode=MODES, later=st.booleans(), is_canvas=st.booleans())
    def offer(self, key: str, mode: WhenTaken, later: bool, is_canvas: bool) -> None:
        self.number += 1
        self._offer(f"id{self.number}", key, mode, later=later, is_canvas=is_canvas)

    @rule(data=st.data(), later=st.booleans())
    def retry(self, data: Any, later: bool) -> None:
        if self.leases:
            lease = data.draw(st.sampled_from(self.leases))
            key = self._key_of(lease.id)
            name = lease.id.partition("#")[0]
            self._offer(name, key, WhenTaken.CONTINUE, later=later, is_canvas=False, continued=lease.mark)

    def _offer(
        self, name: str, key: str, mode: WhenTaken, *, later: bool, is_canvas: bool, continued: str = ""
    ) -> None:
        unique = UniqueKey(key=key, when_taken=mode, is_canvas=is_canvas, continued=continued)

        found = offer(self.queue, Entry(name, FAR if later else 0, key.encode()), unique)

        if found.outcome != "refused":
            self.alive.add(found.id)
        elif mode is WhenTaken.REFUSE:
            assert any(self._key_of(one) == key for one in self.alive if one.partition("#")[0] == found.id)
        assert mode not in (WhenTaken.WAIT, WhenTaken.CONTINUE) or found.outcome in ("added", "follows")
        if found.outcome == "replaced":  # one of that id, which may be a copy
            before = set(self.alive)
            self._forget_the_gone()
            assert [gone.partition("#")[0] for gone in before - self.alive] == [found.replaced_id]

    @rule(limit=st.integers(1, 4), lost=st.booleans())
    def claim(self, limit: int, lost: bool) -> None:
        claim = self.queue.claim(limit, lease_ms=0 if lost else None)
        self.leases += [self.queue.lease(entry.id, entry.token) for entry in claim.entries]
        self._forget_the_gone()

    @rule(data=st.data(), verb=st.sampled_from(["acknowledge", "release", "delay", "bury", "strike", "start", "lapse"]))
    def finish(self, data: Any, verb: str) -> None:
        if not self.leases:
            return
        lease = data.draw(st.sampled_from(self.leases))
        is_done = lease.id in self._fields()["run"]  # it started, or was ended late: with its lease it is gone
        match verb:
            case "acknowledge":
                self.queue.acknowledge([lease])
            case "release" | "delay":
                self.queue.release([lease], delay_ms=10**9 if verb == "delay" else 0)
            case "bury":
                self.queue.bury([lease], reason="because")
            case "strike":
                self.queue.strike([lease], why="because")
            case "start":
                start(self.queue, [lease])
            case "lapse":
                self.queue.extend([lease], lease_ms=0)
                self.queue.reap()
        if verb in {"acknowledge", "lapse"} or is_done:
            self._forget_the_gone()

    @rule(data=st.data(), verb=st.sampled_from(["cancel", "discard", "soon", "later", "redrive"]))
    def change(self, data: Any, verb: str) -> None:
        if not self.alive:
            return
        name = data.draw(st.sampled_from(sorted(self.alive)))
        match verb:
            case "cancel":
                self.queue.cancel([name])
                self._forget_the_gone()
            case "discard":
                self.queue.discard([name])
                self._forget_the_gone()
            case "redrive":
                self.queue.redrive([name])
            case _:
                self.queue.reschedule([name], due_ms=FAR if verb == "later" else 0)

    @rule()
    def purge(self) -> None:
        self.queue.purge()
        self._forget_the_gone()

    @invariant()
    def every_message_is_in_one_place_and_no_two_of_a_key_can_run(self) -> None:
        places = self._places()
        fields = self._fields()
        payloads = {name.decode() for name in self.queue.client.hkeys(self.queue.keys.payload)}
        following = [member.split(b"\0") for member in self.queue.client.zrange(self.queue.keys.followers, 0, -1)]

        assert set(places) == payloads == self.alive
        assert {one[2].decode() for one in following} == set(fields["due"])
        assert all(places[one] is Place.WAITING for one in fields["due"])
        assert set(fields["id"]) | set(fields["was"]) <= payloads
        for key in ("k1", "k2"):
            holder = fields["key"].get(key)
            assert holder is None or places[holder] is not Place.DEAD
            # what follows has one to follow
            assert holder is not None or not any(one[0].decode() == key for one in following)
            of_key = [one for one, about in fields["id"].items() if about.endswith(f":{key}")]
            may_run = [one for one in of_key if one not in fields["due"] and places[one] is not Place.DEAD]
            # Beside the one that has the key only its original, which published it as a retry and is about to end.
            assert all(one == holder or places[one] is Place.LEASED for one in may_run)
        assert set(fields["next"].values()) <= set(fields["due"])
        assert set(fields["run"]) <= {one for one, place in places.items() if place is Place.LEASED}

    def teardown(self) -> None:
        """Whatever was stored can be ended, and leaves nothing."""
        self.queue.purge()
        for _ in range(100):
            self.queue.redrive()
            for place in (Place.WAITING, Place.READY, Place.DEAD):
                self.queue.discard([listed.id for listed in self.queue.list(place)])
            leases = self.queue.list(Place.LEASED)
            holders = self.queue.client.hgetall(self.queue.keys.holder)
            self.queue.acknowledge(
                [self.queue.lease(one.id, int(holders[one.id.encode()].partition(b":")[0])) for one in leases]
            )
            if not sum(self.queue.count()):
                break
        assert sum(self.queue.count()) == 0
        assert not self.queue.client.exists(self.queue.keys.unique, self.queue.keys.followers, self.queue.keys.healed)
        super().teardown()

    def _places(self) -> dict[str, Place]:
        found = [(listed.id, place) for place in Place for listed in self.queue.list(place, limit=1000)]
        assert not [one for one, count in Counter(one for one, _ in found).items() if count > 1]
        return dict(found)

    def _fields(self) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {kind: {} for kind in ("key", "id", "due", "next", "run", "was")}
        for field, value in self.queue.client.hgetall(self.queue.keys.unique).items():
            kind, _, name = field.decode().partition(":")
            found[kind][name] = value.decode()
        return found

    def _key_of(self, name: str) -> str:
        payload: Any = self.queue.client.hget(self.queue.keys.payload, name)
        return (payload or b"k1").decode()

    def _forget_the_gone(self) -> None:
        self.alive = {name.decode() for name in self.queue.client.hkeys(self.queue.keys.payload)}


TestUniqueConservation = UniqueConservation.TestCase
TestUniqueConservation.settings = settings(
    max_examples=examples(15), stateful_step_count=40, deadline=None, phases=[Phase.reuse, Phase.generate]
)
