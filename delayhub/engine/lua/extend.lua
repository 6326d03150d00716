-- Puts off the end of leases that still hold. Their token stays, so a consumer that misses the reply keeps its lease.
-- KEYS: queue
-- ARGV: lease ms, then for each lease: id, token
-- Returns: the ids whose leases still held
-- Complexity: O(log n) a lease
-- Uses: now, allow_writes_when_full, owned
local q, lease = KEYS[1], tonumber(ARGV[1])
allow_writes_when_full(q)
local ids = owned(q, 2, (#ARGV - 1) / 2)
for _, id in ipairs(ids) do
  redis.call('ZADD', q .. LEASED, now + lease, id)
end
return ids
