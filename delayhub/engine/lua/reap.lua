-- Takes back leases that ran out.
-- KEYS: queue, lane
-- ARGV: limit, max strikes
-- Returns: how many went back to their place, how many died
-- Complexity: O(log n) a lease
-- Uses: now, ring, allow_writes_when_full, leave_flight, pass_key, forget, key_holder, without_done, reap
allow_writes_when_full(KEYS[1])
local returned, died = reap(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]))
if returned > 0 or has_left_flight then
  ring(KEYS[2])
end
return {returned, died}
