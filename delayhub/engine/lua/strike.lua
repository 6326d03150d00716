-- Ends leases as if they had run out: the worker lives, but the process that ran the message does not.
-- KEYS: queue, lane
-- ARGV: max strikes, why, then for each lease: id, token
-- Returns: how many went back to their place, how many died
-- Complexity: O(log n) a lease
-- Uses: now, ring, allow_writes_when_full, leave_flight, owned, pass_key, forget, key_holder, without_done, reap
local q = KEYS[1]
allow_writes_when_full(q)
local ids = owned(q, 3, (#ARGV - 2) / 2)
for _, id in ipairs(ids) do
  redis.call('ZADD', q .. LEASED, 0, id) -- sorts before all others, so that these are reaped
end
local returned, died = reap(q, #ids, tonumber(ARGV[1]), ARGV[2])
if returned > 0 or has_left_flight then
  ring(KEYS[2])
end
return {returned, died}
