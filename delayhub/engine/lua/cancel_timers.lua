-- Removes timers, leased ones too: the row that a timer stands for decides. The slot of a leased one is free then.
-- KEYS: queue, lane
-- ARGV: flow key ('' for none), then ids
-- Returns: for each id: 1 if there was a timer, else 0
-- Complexity: O(log n) an id and set of the queue
-- Uses: now, ring, note_agenda, waiting, line, slots
local q, key = KEYS[1], ARGV[1]
local sets, out, removed, freed = sets_of(q, base_of(q, key)), {}, 0, 0
for i = 1, #ARGV - 1 do
  local id = ARGV[i + 1]
  out[i] = 0
  for _, set in ipairs(sets) do
    out[i] = math.max(out[i], redis.call('ZREM', set, id))
  end
  removed = removed + out[i]
  if redis.call('ZREM', q .. LEASED, id) == 1 then
    redis.call('HDEL', q .. HOLDER, id)
    freed, out[i] = freed + free_slots(q, {id}), 1
  end
  redis.call('HDEL', q .. STRIKES, id)
end
if key ~= '' then
  note_keyed(q, -removed)
  leave_line(q, key)
end
if freed > 0 and has_timers(q) then
  note_agenda(KEYS[2], string.sub(q, #KEYS[2] + 2), now)
end
return out
