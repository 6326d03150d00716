-- Sets timers to exactly the times given, earlier or later; a lease on one of them ends.
-- KEYS: queue, lane
-- ARGV: queue name, then for each timer: id, due ms, step
-- Returns: for each timer: added or moved
-- Complexity: O(log n) a timer
-- Uses: ring, note_agenda
local q, lane = KEYS[1], KEYS[2]
local out, earliest = {}, nil
for i = 2, #ARGV, 3 do
  local id, due = ARGV[i], tonumber(ARGV[i + 1])
  local added = redis.call('ZADD', q .. WAITING, string.format('%d', due * 16 + ARGV[i + 2]), id)
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
