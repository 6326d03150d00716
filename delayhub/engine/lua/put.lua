-- Sets timers to exactly the times given, earlier or later, and to a priority step; a lease on one of them ends.
-- KEYS: queue, lane
-- ARGV: queue name, step, then for each timer: id, due ms
-- Returns: for each timer: added or moved
-- Complexity: O(log n) a timer and set of the queue
-- Uses: ring, note_agenda, waiting
local q, lane, step = KEYS[1], KEYS[2], tonumber(ARGV[2])
local target, out, earliest = set_for(q, step), {}, nil
local sets = sets_of(q)
for i = 3, #ARGV, 2 do
  local id, due = ARGV[i], tonumber(ARGV[i + 1])
  local added = redis.call('ZADD', target, string.format('%d', due * 16 + step), id)
  for _, set in ipairs(sets) do
    if set ~= target and redis.call('ZREM', set, id) == 1 then
      added = 0
    end
  end
  if redis.call('ZREM', q .. LEASED, id) == 1 then
    redis.call('HDEL', q .. HOLDER, id)
    added = 0
  end
  redis.call('HDEL', q .. STRIKES, id)
  out[#out + 1] = added == 1 and 'added' or 'moved'
  earliest = math.min(earliest or due, due)
end
if earliest then
  note_agenda(lane, ARGV[1], earliest)
end
return out
