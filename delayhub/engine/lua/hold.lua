-- Takes or keeps the one place of loader in a lane: its holder brings timers, the other loaders wait.
-- KEYS: lane
-- ARGV: holder, lease ms
-- Returns: 1 if the holder has it now
-- Complexity: O(1)
-- Uses: allow_writes_when_full
allow_writes_when_full(KEYS[1])
local key = KEYS[1] .. LOADER
local holder = redis.call('GET', key)
if holder and holder ~= ARGV[1] then
  return 0
end
redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
return 1
