-- Admits new jobs at a rate (GCRA): as many as there are permits for, which are then used up.
-- KEYS: queue
-- ARGV: rate a second, burst, how many are asked for
-- Returns: how many are admitted, ms until the next permit where none is left (else 0), permits left, ms until all are back
-- Complexity: O(1)
-- Uses: now
local interval, burst, asked = 1000000 / ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local arrival = math.max(tonumber(redis.call('GET', KEYS[1] .. ADMITTED) or 0), now_us - burst * interval)
local permits = math.max(math.floor((now_us - arrival + 0.5) / interval), 0)
local count = math.min(permits, asked)
arrival = arrival + count * interval
-- Once all permits are back, the key has nothing to say, so it expires.
local full_ms = math.max(math.ceil((arrival - now_us + burst * interval) / 1000), 0)
if count > 0 then
  redis.call('SET', KEYS[1] .. ADMITTED, string.format('%.0f', arrival), 'PX', math.max(full_ms, 1))
end
local left, wait = permits - count, 0
if left == 0 then
  wait = math.max(math.ceil((arrival + interval - now_us) / 1000), 0)
end
return {count, wait, left, full_ms}
