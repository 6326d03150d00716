-- Stores the message of a periodic entry's occurrence, and moves the entry on: both, or neither.
-- KEYS: queue, lane
-- ARGV: name, token, due ms of the occurrence, its nominal ms, ms of the next one (0 for none), id, due ms, step, payload; and of
--   a message with a unique key: key, what is kept beside it, for how many ms it is taken, mode (see schedule_unique)
-- Returns: 1 (added), 3 (this call had stored it already), the id under which a copy was stored, or 0 (the token does not
--   hold any more: nothing was stored); with a unique key, what schedule_unique returns, in place of 1 or an id
-- Complexity: O(log n); where the id is taken, O(copies) as well (100 at most)
-- Uses: now, ring, ready, leave_flight, pass_key, forget, task_of, places, parked, lift, place, copies, key_holder, unique, offer_for_a_time, offer, occurrence
local q, lane, name, token, at = KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3])
local id, due, step, payload = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9]
local entry, outcome = load_entry(lane, name), 1

if not may_publish(entry, token, at) then
  local is_done = entry and entry.done == token
  return is_done and (ARGV[10] and {'repeated', id, replaced_by(q, id)} or 3) or 0
end
if ARGV[10] then
  outcome = {offer(q, lane, {
    id = id, due = due, step = step, payload = payload, token = '', key = ARGV[10], about = ARGV[11],
    ms = tonumber(ARGV[12]), mode = ARGV[13]})}
else
  if redis.call('HSETNX', q .. PAYLOAD, id, payload) == 0 then
    id = copy_of(q, id, payload)
    outcome = id
  end
  place(q, lane, id, due, step)
end
move_on(entry, tonumber(ARGV[4]), tonumber(ARGV[5]))
save_entry(lane, name, entry)
return outcome
