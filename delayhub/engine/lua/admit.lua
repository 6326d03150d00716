-- Takes permits of the queue's insert rate, as many as there are, up to the number asked for.
-- KEYS: queue
-- ARGV: permits asked for, rate a second, burst
-- Returns: permits taken, and ms until the next one where that is fewer (else 0)
-- Complexity: O(1)
-- Uses: now
local asked, interval, burst = tonumber(ARGV[1]), 1000000 / ARGV[2], tonumber(ARGV[3])
local arrival = math.max(tonumber(redis.call('HGET', KEYS[1] .. GATE, 'insert_tat') or 0), now_us - burst * interval)
local taken = math.max(math.min(math.floor((now_us - arrival) / interval + 1e-9), asked), 0)
if taken > 0 then
  arrival = arrival + taken * interval
  redis.call('HSET', KEYS[1] .. GATE, 'insert_tat', string.format('%.0f', arrival))
end
local wait = 0
if taken < asked then
  wait = math.ceil((arrival + interval - now_us) / 1000)
end
return {taken, wait}
