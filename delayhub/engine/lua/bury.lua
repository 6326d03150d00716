-- Puts leased messages with the dead, for the reason given.
-- KEYS: queue
-- ARGV: reason, then for each lease: id, token
-- Returns: how many leases still held
-- Complexity: O(log n) a lease
-- Uses: now, leave_flight, pass_key, forget, without_done, owned
local q = KEYS[1]
local ended, holders = owned(q, 2, (#ARGV - 1) / 2)
local ids = without_done(q, ended, holders)
for _, id in ipairs(ids) do
  redis.call('ZREM', q .. LEASED, id)
  redis.call('HDEL', q .. HOLDER, id)
  redis.call('ZADD', q .. DEAD, now, id)
  redis.call('HSET', q .. REASON, id, ARGV[1])
end
leave_flight(q, ids)
free_keys(q, ids, false)
return #ended
