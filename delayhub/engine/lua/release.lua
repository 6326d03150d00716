-- Gives leased messages back, to their place in line or to wait for a delay. Costs no strike; those that had been
-- delivered are noted, so that their next delivery says that it is not the first.
-- KEYS: queue, lane
-- ARGV: delay ms, 1 where they had been delivered, then for each lease: id, token
-- Returns: how many leases still held
-- Complexity: O(log n) a lease
-- Uses: now, ring, leave_flight, owned, pass_key, forget, key_holder, without_done
local q, lane, delay = KEYS[1], KEYS[2], tonumber(ARGV[1])
local ended, holders = owned(q, 3, (#ARGV - 2) / 2)
local ids, holders = without_done(q, ended, holders)
for i, id in ipairs(ids) do
  local step, score = string.match(holders[i], '^%d+:(%d+):(%d+)$')
  redis.call('ZREM', q .. LEASED, id)
  redis.call('HDEL', q .. HOLDER, id)
  if ARGV[2] == '1' then
    redis.call('HSETNX', q .. STRIKES, id, 0)
  end
  local waits = takes_turn(q, id, step, now + delay)
  if delay > 0 and not waits then
    redis.call('ZADD', q .. WAITING, (now + delay) * 16 + step, id)
  elseif not waits then
    redis.call('ZADD', q .. READY .. step, score, id)
  end
end
leave_flight(q, ids)
if #ended > 0 then
  ring(lane)
end
return #ended
