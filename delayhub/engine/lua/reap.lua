-- Takes back leases that ran out.
-- KEYS: queue, lane
-- ARGV: limit, max strikes
-- Returns: how many went back to their place, how many died
-- Complexity: O(log n) a lease
-- Uses: now, ring, allow_writes_when_full, reap
allow_writes_when_full(KEYS[1])
local returned, died = reap(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]))
if returned > 0 then
  ring(KEYS[2])
end
return {returned, died}
