"""Mistakes of the scripts of timers."""

from __future__ import annotations

from proof.mutant import Mutant

SCRIPTS = (
    Mutant(
        "a timer is claimed ten seconds early",
        "local until_ms = math.min(now, last",
        "local until_ms = math.min(now + 10000, last",
    ),
    Mutant(
        "a claimed timer stays where it waited",
        "  redis.call('ZREM', set, unpack(ids))\nend\n\nlocal function take_due",
        "end\n\nlocal function take_due",
    ),
    Mutant(
        "an ensured timer moves later",
        "(not was or was > (elsewhere and due * 16 + 15 or score))",
        "true",
        theme="early",
    ),
    Mutant(
        "an ensured timer does not move earlier",
        "(not was or was > (elsewhere and due * 16 + 15 or score))",
        "not was",
        theme="early",
    ),
    Mutant(
        "a leased timer is ensured",
        "if not leased[#out + 1] and (not was",
        "if (not was",
        theme="loading",
    ),
    Mutant(
        "a timer that is put keeps its lease",
        "  if redis.call('ZREM', q .. LEASED, id) == 1 then\n    redis.call('HDEL', q .. HOLDER, id)\n    freed, added",
        "  if false then\n    redis.call('HDEL', q .. HOLDER, id)\n    freed, added",
        theme="timers",
    ),
    Mutant(
        "a timer that is put keeps its old place",
        "removed = removed + (set ~= target and redis.call('ZREM', set, id) or 0)",
        "removed = removed + 0",
        theme="timers",
    ),
    Mutant(
        "a timer that is put is not on the agenda",
        "note_agenda(lane, ARGV[1], freed > 0 and math.min(earliest, now) or earliest)",
        "local _ = freed",
    ),
    Mutant(
        "a timer that is ensured is not on the agenda",
        "  note_agenda(lane, name, earliest)\n  note_keyed",
        "  note_keyed",
    ),
    Mutant(
        "a cancelled timer stays",
        "    out[i] = math.max(out[i], redis.call('ZREM', set, id))",
        "    out[i] = out[i]",
        theme="timers",
    ),
    Mutant(
        "a cancelled timer keeps its lease",
        "  if redis.call('ZREM', q .. LEASED, id) == 1 then\n    redis.call('HDEL', q .. HOLDER, id)\n    freed, out",
        "  if false then\n    redis.call('HDEL', q .. HOLDER, id)\n    freed, out",
        theme="timers",
    ),
    Mutant(
        "a timer's lease never ends",
        "local ids, some_keyed = redis.call('ZRANGEBYSCORE', q .. LEASED, '-inf', now, 'LIMIT', 0, limit), false",
        "local ids, some_keyed = {}, false",
    ),
    Mutant(
        "a timer whose lease ended is gone",
        "    wait_again(q, key or '', id, score or now * 16 + MIDDLE_STEP)",
        "    local _ = score",
    ),
    Mutant(
        "a timer whose lease ended keeps its slot",
        "    free_slots(q, {id})\n    wait_again",
        "    wait_again",
        theme="places",
    ),
    Mutant(
        "an acknowledged timer stays leased",
        "    redis.call('ZREM', q .. LEASED, unpack(ids))\n"
        "    redis.call('HDEL', q .. HOLDER, unpack(ids))\n"
        "    drop(q, ids)",
        "    drop(q, ids)",
    ),
    Mutant(
        "any token ends a timer's lease",
        "if value and string.sub(value, 1, #token) == token then",
        "if value then",
        theme="timers",
    ),
    Mutant(
        "a gate lets one more through",
        "local free = tonumber(max_in_flight) - redis.call('ZCARD', q .. IN_FLIGHT)",
        "local free = tonumber(max_in_flight) + 1 - redis.call('ZCARD', q .. IN_FLIGHT)",
        theme="places",
    ),
    Mutant(
        "a gate without a revision is open",
        "  if ungated and not revision then",
        "  if false then",
        theme="loading",
    ),
    Mutant(
        "a claim takes no slot",
        "    return #ids - held - redis.call('ZADD', q .. IN_FLIGHT, unpack(ends))",
        "    return 0",
        theme="places",
    ),
    Mutant(
        "a slot that is freed wakes nobody",
        "if freed > 0 and has_timers(KEYS[1]) then\n  note_agenda(KEYS[2], ARGV[1], now)\nend\nreturn freed",
        "return freed",
        theme="places",
    ),
    Mutant(
        "a queue leaves the agenda with timers in it",
        "  if wake_at < math.huge then",
        "  if false then",
    ),
    Mutant(
        "a lane forgets when its leases end",
        "lease_end and tonumber(lease_end) or math.huge)",
        "math.huge)",
    ),
)
