-- Makes dead messages ready again, without their strikes: those named, or the oldest. One whose unique key is taken stays.
-- KEYS: queue, lane
-- ARGV: limit, then ids (none: the oldest dead)
-- Returns: how many
-- Complexity: O(log n) an id
-- Uses: now, ring, ready, leave_flight, pass_key, forget, key_holder, unique
local q, lane = KEYS[1], KEYS[2]
local ids = {unpack(ARGV, 2)}
if #ids == 0 then
  ids = redis.call('ZRANGE', q .. DEAD, 0, tonumber(ARGV[1]) - 1)
end
local revived = 0
for _, id in ipairs(ids) do
  if redis.call('ZSCORE', q .. DEAD, id) and take_again(q, id) then
    redis.call('ZREM', q .. DEAD, id)
    redis.call('HDEL', q .. REASON, id)
    redis.call('HDEL', q .. STRIKES, id)
    redis.call('HDEL', q .. LOST, id)
    put_ready(q, 0, id)
    revived = revived + 1
  end
end
if revived > 0 then
  ring(lane)
end
return revived
