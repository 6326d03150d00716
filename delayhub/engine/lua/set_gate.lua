-- Sets what a claim may take from a timer queue, from the next claim on. Permits and slots in use are kept.
-- KEYS: queue, lane
-- ARGV: queue name, rate a second ('' for none), burst, max in flight ('' for none), shut until ms, weight, bonus ms
-- Returns: 1
-- Complexity: O(log n)
-- Uses: now, ring, note_agenda, waiting
local gate = KEYS[1] .. GATE
for i, field in ipairs({'rate', 'burst', 'max_in_flight', 'shut_until', 'weight', 'bonus'}) do
  local value = ARGV[i + 1]
  if value == '' then
    redis.call('HDEL', gate, field)
  else
    redis.call('HSET', gate, field, value)
  end
end
if redis.call('EXISTS', unpack((sets_of(KEYS[1])))) > 0 then
  note_agenda(KEYS[2], ARGV[1], now)
end
return 1
