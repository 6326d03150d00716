-- Frees the slots of max_in_flight that jobs held, and puts the queue on the agenda of the next claim.
-- KEYS: queue, lane
-- ARGV: queue name, until when their slots would be held at most (ms; '': however long), then ids
-- Returns: how many slots were held
-- Complexity: O(log n) an id
-- Uses: now, ring, note_agenda, waiting, line, slots
local held, freed = KEYS[1] .. IN_FLIGHT, 0
if ARGV[2] == '' then
  freed = free_slots(KEYS[1], {unpack(ARGV, 3)})
else
  -- A slot that is held for longer is that of a later claim.
  for i = 3, #ARGV do
    local score = redis.call('ZSCORE', held, ARGV[i])
    if score and tonumber(score) <= tonumber(ARGV[2]) then
      freed = freed + free_slots(KEYS[1], {ARGV[i]})
    end
  end
end
if freed > 0 and has_timers(KEYS[1]) then
  note_agenda(KEYS[2], ARGV[1], now)
end
return freed
