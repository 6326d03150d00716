-- Gives leased messages back, to their place in line or to wait for a delay. Costs no strike; those that had been
-- delivered are noted, so that their next delivery says that it is not the first.
-- KEYS: queue, lane
-- ARGV: delay ms, 1 where they had been delivered, then for each lease: id, token
-- Returns: how many leases still held
-- Complexity: O(log n) a lease
-- Uses: now, ring, owned
local q, lane, delay = KEYS[1], KEYS[2], tonumber(ARGV[1])
local ids, holders = owned(q, 3, (#ARGV - 2) / 2)
for i, id in ipairs(ids) do
  local step, score = string.match(holders[i], '^%d+:(%d+):(%d+)$')
  redis.call('ZREM', q .. LEASED, id)
  redis.call('HDEL', q .. HOLDER, id)
  if ARGV[2] == '1' then
    redis.call('HSETNX', q .. STRIKES, id, 0)
  end
  if delay > 0 then
    redis.call('ZADD', q .. WAITING, (now + delay) * 16 + step, id)
  else
    redis.call('ZADD', q .. READY .. step, score, id)
  end
end
if #ids > 0 then
  ring(lane)
end
return #ids
