-- Sets what a claim may take from a timer queue, from the next claim on. Permits and slots in use are kept.
-- KEYS: queue, lane
-- ARGV: queue name, rate a second ('' for none), burst, max in flight ('' for none), shut until ms, weight, bonus ms, and
--   of each flow key: rate, burst, max in flight
-- Returns: 1
-- Complexity: O(log n)
-- Uses: now, ring, note_agenda, waiting, line
local gate = KEYS[1] .. GATE
local fields = {
  'rate', 'burst', 'max_in_flight', 'shut_until', 'weight', 'bonus', 'key_rate', 'key_burst', 'key_in_flight'}
for i, field in ipairs(fields) do
  local value = ARGV[i + 1]
  if value == '' then
    redis.call('HDEL', gate, field)
  else
    redis.call('HSET', gate, field, value)
  end
end
if ARGV[10] == '' then
  redis.call('DEL', KEYS[1] .. SLOT_KEYS, KEYS[1] .. HELD)
end
if has_timers(KEYS[1]) then
  note_agenda(KEYS[2], ARGV[1], now)
end
return 1
