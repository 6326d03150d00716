-- Removes timers, leased ones too: the row that a timer stands for decides.
-- KEYS: queue, lane
-- ARGV: ids
-- Returns: for each id: 1 if there was a timer, else 0
-- Complexity: O(log n) an id and set of the queue
-- Uses: waiting
local q = KEYS[1]
local sets, out = sets_of(q), {}
for i, id in ipairs(ARGV) do
  out[i] = 0
  for _, set in ipairs(sets) do
    out[i] = math.max(out[i], redis.call('ZREM', set, id))
  end
  if redis.call('ZREM', q .. LEASED, id) == 1 then
    redis.call('HDEL', q .. HOLDER, id)
    out[i] = 1
  end
  redis.call('HDEL', q .. STRIKES, id)
end
return out
