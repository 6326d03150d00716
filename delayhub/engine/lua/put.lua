-- Sets timers to exactly the times given, earlier or later, to a priority step and a flow key; a lease on one of them
-- ends, and its slot is free: who holds it may have died, and it would not free the slot then.
-- KEYS: queue, lane
-- ARGV: queue name, flow key ('' for none), the one that the timers had before, step, then for each timer: id, due ms
-- Returns: for each timer: added or moved
-- Complexity: O(log n) a timer and set of the queue
-- Uses: now, ring, note_agenda, waiting, line, slots
local q, lane, key, former, step = KEYS[1], KEYS[2], ARGV[2], ARGV[3], tonumber(ARGV[4])
local target, out, earliest, keyed, freed = set_for(q, base_of(q, key), step), {}, nil, 0, 0
local function remove(id, of_key)
  local removed = 0
  for _, set in ipairs((sets_of(q, base_of(q, of_key)))) do
    removed = removed + (set ~= target and redis.call('ZREM', set, id) or 0)
  end
  keyed = keyed - (of_key ~= '' and removed or 0)
  return removed
end
for i = 5, #ARGV, 2 do
  local id, due = ARGV[i], tonumber(ARGV[i + 1])
  local added = redis.call('ZADD', target, string.format('%d', due * 16 + step), id)
  keyed = keyed + (key ~= '' and added or 0)
  if remove(id, key) + (former ~= key and remove(id, former) or 0) > 0 then
    added = 0
  end
  if redis.call('ZREM', q .. LEASED, id) == 1 then
    redis.call('HDEL', q .. HOLDER, id)
    freed, added = freed + free_slots(q, {id}), 0
  end
  redis.call('HDEL', q .. STRIKES, id)
  out[#out + 1] = added == 1 and 'added' or 'moved'
  earliest = math.min(earliest or due, due)
end
if earliest then
  note_agenda(lane, ARGV[1], freed > 0 and math.min(earliest, now) or earliest)
  note_keyed(q, keyed)
  leave_line(q, former)
  if key ~= '' then
    note_turn(q, key, earliest)
  end
end
return out
