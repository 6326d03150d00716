-- Frees the slots of max_in_flight that jobs held, and puts the queue on the agenda of the next claim.
-- KEYS: queue, lane
-- ARGV: queue name, then ids
-- Returns: how many slots were held
-- Complexity: O(log n) an id
-- Uses: now, ring, note_agenda
local freed = redis.call('ZREM', KEYS[1] .. IN_FLIGHT, unpack(ARGV, 2))
if freed > 0 and redis.call('EXISTS', KEYS[1] .. WAITING) == 1 then
  note_agenda(KEYS[2], ARGV[1], now)
end
return freed
