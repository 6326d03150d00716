"""The law of places: each message is in one set, and has its payload for as long; in the end nothing is left."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import redis

from delayhub.engine import DelayQueue
from delayhub.engine.scripts import Script
from proof.broken import Broken
from proof.virtual_time import CLOCK

#: What is wrong with the places of a queue's messages (nothing, most often), which are leased, which are dead, whether
#: the bell has rung, which is silent from then on, what claims had to put right, and how many places are taken, and how
#: many of them by parked ones: one call, as calls are most of what a history costs.
_SOURCE = """
local q, seen, wrong, taken, parked = KEYS[1], {}, {}, 0, 0
local sets = {q .. ':waiting', q .. ':leased', q .. ':dead'}
-- those of ready and parked messages, of which a queue has a few out of many
for _, key in ipairs(redis.call('KEYS', q .. ':[rp][ea][ar][dk]*:*')) do sets[#sets + 1] = key end
local found = {}
for _, key in ipairs(sets) do
  found[key] = redis.call('ZRANGE', key, 0, -1)
  taken = taken + #found[key]
  if string.find(key, ':parked:', 1, true) then parked = parked + #found[key] end
  for _, id in ipairs(found[key]) do
    if seen[id] then wrong[#wrong + 1] = id .. ' in two places: ' .. seen[id] .. ' and ' .. key end
    seen[id] = key
    if key == q .. ':leased' and redis.call('HEXISTS', q .. ':holder', id) == 0 then
      wrong[#wrong + 1] = id .. ' leased without a holder'
    end
  end
end
for _, id in ipairs(redis.call('HKEYS', q .. ':payload')) do
  if not seen[id] then wrong[#wrong + 1] = id .. ' has a payload and no place' end
  seen[id] = nil
end
for id, key in pairs(seen) do wrong[#wrong + 1] = id .. ' without a payload: in ' .. key end
return {wrong, found[q .. ':leased'], found[q .. ':dead'], redis.call('DEL', KEYS[2]), redis.call('HGETALL', KEYS[3]),
  taken, parked}
"""
_LOOK = Script("look", "", {}, _SOURCE, hashlib.sha1(_SOURCE.encode()).hexdigest())

#: What an empty queue may keep: limits, who is revoked, whose key is taken for a time, and its lane's own keys.
STAYS = (
    ":limits", ":limited", ":revoked", ":timed", ":timed_ids", ":tat", ":@wake", ":@token", ":@alarm", CLOCK,
)  # fmt: skip


class Look(NamedTuple):
    """What a look at the queue has found: names of leased and dead messages, whether the bell has rung since the last
    look, what is wrong: a message in two places, or with a place or a payload alone, or what a claim put right; and how
    many places are taken, and how many of them by parked messages.
    """

    leased: frozenset[str]
    dead: frozenset[str]
    has_rung: bool
    wrong: str
    taken: int
    parked: int


def look_command(queue: DelayQueue) -> tuple[Any, ...]:
    """The command whose reply :func:`seen` understands; its script is loaded first."""
    queue.client.script_load(_SOURCE)
    return _LOOK.command([queue.keys.base, queue.lane_keys.wake, queue.keys.healed], ())


def seen(reply: Any) -> Look:
    """What a look at a queue has found, by its reply."""
    complaints, leased, dead, has_rung, healed, taken, parked = reply
    wrong = "; ".join(text.decode() for text in complaints[:3])
    if healed and not wrong:
        wrong = f"put right what nothing of this release leaves behind: {b' '.join(healed).decode()}"
    return Look(_names(leased), _names(dead), bool(has_rung), wrong, taken, parked)


def _names(found: list[bytes]) -> frozenset[str]:
    return frozenset(name.decode() for name in found)


def check_nothing_left(client: redis.Redis) -> None:
    """Raises Broken where the server of an empty queue has more than :data:`STAYS`."""
    keys: Any = client.keys("*")
    left = sorted(key.decode() for key in keys if not key.decode().endswith(STAYS))
    if left:
        raise Broken(f"left behind: {', '.join(left)}")
