-- The payloads of ids and their copies.
-- KEYS: queue
-- ARGV: ids
-- Returns: for each id: the payloads there are
-- Complexity: O(1) an id and copy
-- Uses: names
local out = {}
for i, id in ipairs(ARGV) do
  local found = names(KEYS[1], id)
  out[i] = #found > 0 and redis.call('HMGET', KEYS[1] .. PAYLOAD, unpack(found)) or {}
end
return out
