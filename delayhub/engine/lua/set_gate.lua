-- Sets what a claim may take from a timer queue, from the next claim on. Permits and slots in use are kept.
-- KEYS: queue, lane
-- ARGV: queue name, rate a second ('' for none), burst, max in flight ('' for none), shut until ms, weight
-- Returns: 1
-- Complexity: O(log n)
-- Uses: now, ring, note_agenda
local gate = KEYS[1] .. GATE
local fields = {rate = ARGV[2], burst = ARGV[3], max_in_flight = ARGV[4], shut_until = ARGV[5], weight = ARGV[6]}
for field, value in pairs(fields) do
  if value == '' then
    redis.call('HDEL', gate, field)
  else
    redis.call('HSET', gate, field, value)
  end
end
if redis.call('EXISTS', KEYS[1] .. WAITING) == 1 then
  note_agenda(KEYS[2], ARGV[1], now)
end
return 1
