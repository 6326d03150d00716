-- The payloads of ids and their copies.
-- KEYS: queue
-- ARGV: first and last of the copies looked at (0: the id itself), then ids
-- Returns: for each id: the payloads there are
-- Complexity: O(1) an id and copy
-- Uses: names
local out = {}
for i = 3, #ARGV do
  local found = names(KEYS[1], ARGV[i], tonumber(ARGV[1]), tonumber(ARGV[2]))
  out[i - 2] = #found > 0 and redis.call('HMGET', KEYS[1] .. PAYLOAD, unpack(found)) or {}
end
return out
