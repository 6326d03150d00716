-- Ends leases as if they had run out: the worker lives, but what it lent to the message did not.
-- KEYS: queue, lane
-- ARGV: max strikes, why, then for each lease: id, token
-- Returns: how many went back to their place, how many died
-- Complexity: O(log n) a lease
-- Uses: now, ring, allow_writes_when_full, owned, reap
local q = KEYS[1]
allow_writes_when_full(q)
local ids = owned(q, 3, (#ARGV - 2) / 2)
for _, id in ipairs(ids) do
  redis.call('ZADD', q .. LEASED, 0, id) -- before all others, so that these are the ones reaped
end
local returned, died = reap(q, #ids, tonumber(ARGV[1]), ARGV[2])
if returned > 0 then
  ring(KEYS[2])
end
return {returned, died}
