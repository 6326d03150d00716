-- Gives leased timers back, to their own due time or to wait for a delay. Costs no strike.
-- KEYS: queue, lane
-- ARGV: queue name, delay ms, then for each lease: id, token
-- Returns: how many leases still held
-- Complexity: O(log n) a lease
-- Uses: now, ring, owned, note_agenda, waiting, line, slots
local q, lane, delay, freed = KEYS[1], KEYS[2], tonumber(ARGV[2]), 0
local ids, holders = owned(q, 3, (#ARGV - 2) / 2)
for i, id in ipairs(ids) do
  local step, score, key = string.match(holders[i], '^%d+:(%d+):(%d+):?(.*)$')
  redis.call('ZREM', q .. LEASED, id)
  redis.call('HDEL', q .. HOLDER, id)
  wait_again(q, key, id, delay > 0 and (now + delay) * 16 + step or score)
  freed = freed + free_slots(q, {id})
end
if #ids > 0 then
  -- A free slot is of use to others at once.
  note_agenda(lane, ARGV[1], freed > 0 and now or now + delay)
end
return #ids
