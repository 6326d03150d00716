-- Ends leases and removes their entries; also those whose lease ran out meanwhile, since their work is done.
-- KEYS: queue, lane
-- ARGV: for each lease: id, token
-- Returns: how many entries were removed
-- Complexity: O(log n) a lease
-- Uses: ring, allow_writes_when_full, leave_flight, drop, owned, acknowledge
-- Seldom: pass_key, forget, task_of, places, parked, lift, mark_done
allow_writes_when_full(KEYS[1])
local ended = acknowledge(KEYS[1], 1, #ARGV / 2)
if has_left_flight then
  ring(KEYS[2])
end
return ended
