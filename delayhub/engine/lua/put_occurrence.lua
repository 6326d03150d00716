-- Stores the message of a periodic entry's occurrence, and moves the entry on: both, or neither.
-- KEYS: queue, lane
-- ARGV: name, token, due ms of the occurrence, its nominal ms, ms of the next one (0 for none), id, due ms, step, payload
-- Returns: 1 (added), 3 (this call had stored it already), the id under which a copy was stored, or 0 (the token does not
--   hold any more: nothing was stored)
-- Complexity: O(log n); where the id is taken, O(copies) as well (100 at most)
-- Uses: now, ring, ready, place, copies, occurrence
local q, lane, name, token, at = KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3])
local id, due, step, payload = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local entry, outcome = load_entry(lane, name), 1

if not may_publish(entry, token, at) then
  return entry and entry.done == token and 3 or 0
end
if redis.call('HSETNX', q .. PAYLOAD, id, payload) == 0 then
  id = copy_of(q, id, payload)
  outcome = id
end
place(q, lane, id, due, step)
move_on(entry, tonumber(ARGV[4]), tonumber(ARGV[5]))
save_entry(lane, name, entry)
return outcome
