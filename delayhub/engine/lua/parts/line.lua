-- The line of a timer queue with flow keys (TURNS): which key has the next turn, and when each wants attention.
-- note_turn(q, key, at): puts a flow key in the line of its queue at that time (ms), unless it wants a turn sooner. One
-- that is in line stays where it is, so nothing is gained by new timers that are due long ago.
local function note_turn(q, key, at)
  at = math.max(at, now_us / 1000)
  local was = redis.call('ZSCORE', q .. TURNS, key)
  if not was or tonumber(was) > at then
    redis.call('ZADD', q .. TURNS, string.format('%.3f', at), key)
  end
end

-- come_again(q, key): lets a flow key that is in the line have a turn now, since it has a slot more.
local function come_again(q, key)
  if redis.call('ZSCORE', q .. TURNS, key) then
    note_turn(q, key, now)
  end
end

-- note_keyed(q, by): counts the timers that wait in sets of flow keys, so that they are known without asking each.
local function note_keyed(q, by)
  if by ~= 0 and redis.call('HINCRBY', q .. GATE, 'keyed', by) <= 0 then
    redis.call('HDEL', q .. GATE, 'keyed')
  end
end

-- leave_line(q, key): takes a flow key that has no timers out of the line.
local function leave_line(q, key)
  if key ~= '' and redis.call('EXISTS', unpack((sets_of(q, base_of(q, key))))) == 0 then
    redis.call('ZREM', q .. TURNS, key)
  end
end

-- wait_again(q, key, id, score): puts a timer back into the set of its step, which is part of its score.
local function wait_again(q, key, id, score)
  local added = redis.call('ZADD', set_for(q, base_of(q, key), score % 16), string.format('%d', score), id)
  if key ~= '' then
    note_keyed(q, added)
    note_turn(q, key, math.floor(score / 16))
  end
end

-- has_timers(q): whether any timer waits in the queue.
local function has_timers(q)
  return redis.call('EXISTS', q .. TURNS, unpack((sets_of(q, q)))) > 0
end
