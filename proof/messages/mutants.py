"""One-line mistakes in the scripts of messages: a simulator that does not catch them proves nothing."""

from __future__ import annotations

from proof.mutant import Mutant

MUTANTS = (
    # leases and their fence
    Mutant("any token ends a lease", "if value and string.sub(value, 1, #token) == token then", "if value then"),
    Mutant(
        "an acknowledgement leaves the lease",
        "    redis.call('ZREM', q .. LEASED, unpack(ids))\n    redis.call('HDEL', q .. HOLDER, unpack(ids))\n    drop(",
        "    redis.call('HDEL', q .. HOLDER, unpack(ids))\n    drop(",
    ),
    Mutant(
        "an acknowledgement leaves the holder",
        "    redis.call('HDEL', q .. HOLDER, unpack(ids))\n    drop(q, ids)",
        "    drop(q, ids)",
    ),
    Mutant(
        "a late acknowledgement is ignored",
        "if lost and tonumber(ARGV[i + 1]) >= tonumber(lost) then",
        "if false then",
    ),
    Mutant(
        "a late acknowledgement needs no token of the message",
        "if lost and tonumber(ARGV[i + 1]) >= tonumber(lost) then",
        "if lost then",
    ),
    Mutant(
        "a late acknowledgement frees what another holds",
        "if not (holder and seldom().mark_done(q, ARGV[i], holder)) then",
        "if true then",
    ),
    Mutant("a lost lease is not noted", "      redis.call('HSETNX', q .. LOST, id, token)", "      local _ = 0"),
    Mutant(
        "the last lost lease is noted, not the first",
        "redis.call('HSETNX', q .. LOST, id, token)",
        "redis.call('HSET', q .. LOST, id, token)",
    ),
    Mutant("tokens begin at one", "  if token < begin then", "  if false then"),
    Mutant("tokens repeat", "redis.call('INCR', lane .. TOKEN)", "tonumber(redis.call('GET', lane .. TOKEN) or 1)"),
    Mutant("an extended lease ends when it did", "redis.call('ZADD', q .. LEASED, now + lease, id)", "local _ = id"),
    Mutant(
        "a lease is a second shorter",
        "no_ack and 0 or now + lease, 0, 0, 0, nil",
        "no_ack and 0 or now + lease - 1000, 0, 0, 0, nil",
    ),
    # leases that ran out
    Mutant(
        "a lost lease frees no place",
        "  leave_flight(q, ids)\n  return returned, died",
        "  return returned, died",
    ),
    Mutant(
        "a lost lease costs no strike",
        "local strikes = redis.call('HINCRBY', q .. STRIKES, id, 1)",
        "local strikes = 1",
    ),
    Mutant("one strike more than may be", "if strikes >= max_strikes then", "if strikes > max_strikes then"),
    Mutant(
        "a message that died keeps its key",
        "      free_keys(q, {id}, false)\n      died = died + 1",
        "      died = died + 1",
    ),
    Mutant("a lost message goes to the end of the line", "score or now_us, id)", "now_us, id)"),
    Mutant(
        "a lost message loses its priority",
        "redis.call('ZADD', q .. READY .. (step or 0), score or now_us, id)",
        "redis.call('ZADD', q .. READY .. 0, score or now_us, id)",
    ),
    Mutant("a done message is given again", "    if mark == token or redis", "    if false and redis"),
    Mutant("a strike leaves the lease", "redis.call('ZADD', q .. LEASED, 0, id) -- sorts", "local _ = id -- sorts"),
    # ends of other kinds
    Mutant(
        "a release forgets its delay",
        "if delay > 0 and not waits then",
        "if false then",
    ),
    Mutant(
        "a released message goes to the end of the line",
        "redis.call('ZADD', q .. READY .. step, score, id)\n  end\nend\nleave_flight",
        "redis.call('ZADD', q .. READY .. step, now_us, id)\n  end\nend\nleave_flight",
    ),
    Mutant(
        "a release frees no place",
        "leave_flight(q, ids)\nif #ended > 0 then\n  ring(lane)",
        "if #ended > 0 then\n  ring(lane)",
    ),
    Mutant("a release wakes nobody", "if #ended > 0 then\n  ring(lane)\nend", ""),
    Mutant(
        "a buried message keeps its key",
        "leave_flight(q, ids)\nfree_keys(q, ids, false)\nreturn #ended",
        "leave_flight(q, ids)\nreturn #ended",
    ),
    Mutant(
        "a buried message keeps its place",
        "leave_flight(q, ids)\nfree_keys(q, ids, false)\nreturn #ended",
        "free_keys(q, ids, false)\nreturn #ended",
    ),
    Mutant(
        "a cancel takes from consumers", "    if lift(q, id, false) ~= 'leased' then", "    if lift(q, id, true) then"
    ),
    Mutant("a cancel leaves payloads", "  if #removed > 0 then\n    forget(q, removed)\n  end", ""),
    Mutant("a cancel lays no tombstone", "  if tombstone > 0 then", "  if false then"),
    Mutant("a tombstone holds for ever", "if ends and tonumber(ends) > now then", "if ends then"),
    Mutant(
        "a revived message keeps its strikes",
        "    redis.call('HDEL', q .. STRIKES, id)\n    redis.call('HDEL', q .. LOST, id)\n    put_ready",
        "    redis.call('HDEL', q .. LOST, id)\n    put_ready",
    ),
    Mutant(
        "a revived message knows old leases",
        "    redis.call('HDEL', q .. LOST, id)\n    put_ready(q, 0, id)",
        "    put_ready(q, 0, id)",
    ),
    Mutant("a revived message wakes nobody", "if revived > 0 then\n  ring(lane)\nend", ""),
    Mutant("a revived message does without its key", "and take_again(q, id) then", "then"),
    Mutant("what is kept of strikes stays", "    redis.call('HDEL', q .. STRIKES, unpack(ids))", "    local _ = 0"),
    Mutant(
        "what is kept of lost leases stays", "    redis.call('HDEL', q .. LOST, unpack(ids)) --", "    local _ = 0 --"
    ),
    # time and line
    Mutant(
        "a claim comes one ms early",
        "local now = (now_us - now_us % 1000) / 1000",
        "local now = (now_us - now_us % 1000) / 1000 + 1",
    ),
    Mutant(
        "what is due within a second is ready",
        "if outcome ~= 0 and outcome ~= 3 and due <= now then",
        "if outcome ~= 0 and outcome ~= 3 and due <= now + 1000 then",
    ),
    Mutant(
        "priorities are lost on the way to ready", "    local step = score % 16\n    ids", "    local step = 0\n    ids"
    ),
    Mutant(
        "who waits is told to come late",
        "wake_at = math.floor(tonumber(head) / 16)",
        "wake_at = math.floor(tonumber(head) / 16) + 1",
    ),
    Mutant(
        "who waits is not told of leases",
        "if lease_end and (not wake_at or tonumber(lease_end) < wake_at) then",
        "if false then",
    ),
    Mutant("a publish wakes nobody", "if not has_rung and (rings or placed", "if not has_rung and (placed"),
    Mutant(
        "a message that is moved wakes nobody",
        "    put_ready(q, step, id)\n    ring(lane)",
        "    put_ready(q, step, id)",
    ),
    Mutant(
        "a publish that is sent again is stored again", "m.token ~= '' and stored_already(q, m.id, m.token)", "false"
    ),
    Mutant(
        "a plain publish that is sent again is stored again",
        "if not has_copies and token ~= '' and seldom().stored_already(q, id, token) then",
        "if false then",
    ),
    Mutant(
        "a copy takes the place of another",
        "if redis.call('HSETNX', q .. PAYLOAD, name, payload) == 1 then\n      return name",
        "if redis.call('HSET', q .. PAYLOAD, name, payload) then\n      return name",
        equivalent="numbers of copies only grow while one of them lives, so a name is never taken",
    ),
    Mutant(
        "copies are counted for ever",
        "redis.call('HINCRBY', q .. COPIES, 'live:' .. base, -1) <= 0",
        "redis.call('HINCRBY', q .. COPIES, 'live:' .. base, -1) < 0",
    ),
    # limits
    Mutant("one more runs at once than may", "limit.flying >= limit.most", "limit.flying > limit.most"),
    Mutant("a rate holds nothing back", "limit.next > now_us or", "false or"),
    Mutant(
        "a permit is used up by half",
        "limit.next = math.max(limit.next, now_us - caught_up) + limit.interval",
        "limit.next = math.max(limit.next, now_us - caught_up) + limit.interval / 2",
    ),
    Mutant(
        "a place that is free wakes no task",
        "redis.call('ZADD', q .. SHUT, 0, name)\n      end\n      has_left",
        "local _ = 0\n      end\n      has_left",
    ),
    Mutant(
        "a message has a place of its key only",
        "  if of_task then\n    of_task.flying",
        "  if false then\n    of_task.flying",
    ),
    Mutant(
        "a message has a place of its task only",
        "  if of_key then\n    of_key.flying",
        "  if false then\n    of_key.flying",
    ),
    Mutant(
        "places are counted for ever", "if redis.call('HINCRBY', q .. AT_ONCE, name, -1) <= 0 then", "if false then"
    ),
    Mutant("parked messages are counted for ever", "redis.call('INCRBY', q .. PARKED, by) <= 0", "false"),
    Mutant(
        "a parked message is not found",
        "  redis.call('ZREM', q .. PARKED_BY .. name, id)\n  count_parked(q, -1)\n  represent(q, name, redis",
        "  count_parked(q, -1)\n  represent(q, name, redis",
    ),
    # unique keys
    Mutant(
        "a key is passed to one that is not told",
        "      redis.call('ZADD', q .. WAITING, 'XX', score, id)\n      return id",
        "      return id",
    ),
    Mutant(
        "a key stays after its last message",
        "  redis.call('HDEL', q .. UNIQUE, 'key:' .. key)\n  return nil",
        "  return nil",
    ),
    Mutant(
        "one that waits for a key is in line twice",
        "    redis.call('ZREM', q .. FOLLOWERS, key .. '\\0' .. number .. '\\0' .. id)",
        "    local _ = 0",
    ),
    Mutant(
        "a key until the start is kept until the end",
        "if string.sub(redis.call('HGET', q .. UNIQUE, 'id:' .. entries[i]) or '', 1, 1) == 's' then",
        "if false then",
    ),
    Mutant(
        "a message that comes back does not ask for its key",
        "local holder = key and holder_of(q, key)",
        "local holder = nil",
    ),
    Mutant("a message is replaced under its lease", "    if is_held or is_canvas then", "    if is_canvas then"),
    Mutant("what was replaced stays", "    lift(q, victim, false)\n    forget(q, {victim})", "    local _ = victim"),
    Mutant(
        "one that waits for its key is not held back",
        "    if score then\n      put_off(q, due[i], score)",
        "    if false then\n      put_off(q, due[i], score)",
    ),
    Mutant(
        "a retry takes the key from another that runs",
        "local continues = lease and lease .. ':' .. holder == m.lease\n",
        "local continues = lease\n",
    ),
    Mutant(
        "a retry does not get the key of its task",
        "local continues = lease and lease .. ':' .. holder == m.lease\n",
        "local continues = false\n",
    ),
    Mutant(
        "a taken key refuses nobody",
        "if holder and m.mode == 'refuse' then\n    return 'refused', base_name",
        "if false then\n    return 'refused', base_name",
    ),
    Mutant(
        "a task that is started early is given again",
        "    redis.call('HSET', q .. UNIQUE, 'run:' .. id, token)\n    is_marked = true",
        "    is_marked = true",
    ),
    Mutant(
        "a place of a task that is started early is given again",
        "    redis.call('HSET', q .. FLYING, id, (string.gsub(flying, '\\r.*$', '')) .. '\\r' .. token)\n",
        "",
    ),
    Mutant(
        "what one replaced is remembered for ever",
        "    redis.call('HDEL', q .. UNIQUE, 'was:' .. id)",
        "    local _ = id",
    ),
)
