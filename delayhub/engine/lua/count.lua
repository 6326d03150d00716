-- How many entries are where.
-- KEYS: queue
-- ARGV: none
-- Returns: waiting, ready, leased, dead, parked
-- Complexity: O(steps)
-- Uses: none
local q = KEYS[1]
local ready = 0
for step = 0, MAX_STEPS - 1 do
  ready = ready + redis.call('ZCARD', q .. READY .. step)
end
local parked = tonumber(redis.call('GET', q .. PARKED) or 0)
return {
  redis.call('ZCARD', q .. WAITING), ready, redis.call('ZCARD', q .. LEASED), redis.call('ZCARD', q .. DEAD), parked}
