-- Notes that tasks with a unique key, or that count among those that may run at once, which are acknowledged when they start, run
-- now: their messages stay leased, so that key and place stay taken, but are never given out again.
-- KEYS: queue
-- ARGV: for each lease: id, token
-- Returns: how many leases still held, of such messages
-- Complexity: O(1) a lease
-- Uses: allow_writes_when_full, mark_done, owned
allow_writes_when_full(KEYS[1])
local q, started = KEYS[1], 0
local ids, holders = owned(q, 1, #ARGV / 2)
for i, id in ipairs(ids) do
  started = started + (mark_done(q, id, holders[i]) and 1 or 0)
end
return started
