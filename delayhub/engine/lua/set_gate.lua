-- Sets what a claim may take from a timer queue, from the next claim on, unless it was set from a newer state of its row, or
-- from a younger row. Permits and slots in use are kept.
-- KEYS: queue, lane
-- ARGV: queue name, rate a second ('' for none), burst, max in flight ('' for none), shut until ms, weight, bonus ms, and
--   of each flow key: rate, burst, max in flight; then the row and its revision, and 1 where it counts in any case
-- Returns: 1; 0 where the gate that is there is newer
-- Complexity: O(log n); O(log n) a flow key in the line as well, where what keys may do changes
-- Uses: now, ring, allow_writes_when_full, note_agenda, waiting, line
allow_writes_when_full(KEYS[1])
local gate, of_keys_changed = KEYS[1] .. GATE, false
local row, number = string.match(redis.call('HGET', gate, 'revision') or '0.0', '^(%d+)%.(%d+)$')
local is_older = tonumber(ARGV[11]) < tonumber(row)
  or tonumber(ARGV[11]) == tonumber(row) and tonumber(ARGV[12]) < tonumber(number)
if is_older and ARGV[13] ~= '1' then
  return 0
end
redis.call('HSET', gate, 'revision', ARGV[11] .. '.' .. ARGV[12])
local fields = {
  'rate', 'burst', 'max_in_flight', 'shut_until', 'weight', 'bonus', 'key_rate', 'key_burst', 'key_in_flight'}
for i, field in ipairs(fields) do
  local value = ARGV[i + 1]
  if string.sub(field, 1, 4) == 'key_' then
    of_keys_changed = of_keys_changed or (redis.call('HGET', gate, field) or '') ~= value
  end
  if value == '' then
    redis.call('HDEL', gate, field)
  else
    redis.call('HSET', gate, field, value)
  end
end
if ARGV[10] == '' then
  redis.call('DEL', KEYS[1] .. SLOT_KEYS, KEYS[1] .. HELD)
end
if of_keys_changed then
  -- The turns of keys that were held back are as far away as the limits until now had them.
  local later = redis.call('ZRANGEBYSCORE', KEYS[1] .. TURNS, '(' .. now, '+inf')
  for _, key in ipairs(later) do
    note_turn(KEYS[1], key, now)
  end
end
if has_timers(KEYS[1]) then
  note_agenda(KEYS[2], ARGV[1], now)
end
return 1
