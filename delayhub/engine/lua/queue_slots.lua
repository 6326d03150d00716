-- Reads how many slots a queue has, after it was set or what the caller knows of it was added.
-- KEYS: lane of slot 0
-- ARGV: number to set (0: none), number and places that the caller knows, which count where Redis has lost them; number that
--   is proposed (0: none), which counts where neither Redis nor the caller knows of any slots
-- Returns: the number of slots that messages are published to, the number of places (the most slots that there ever were)
-- Complexity: O(1)
-- Uses: allow_writes_when_full
local key, wanted = KEYS[1] .. QUEUE_SLOTS, tonumber(ARGV[1])
local stored = redis.call('GET', key)
local slots, places = string.match(stored or '', '^(%d+) (%d+)$')
if not stored and tonumber(ARGV[3]) == 1 and wanted == 0 then
  wanted = tonumber(ARGV[4])
end
slots = wanted > 0 and wanted or tonumber(slots or ARGV[2])
places = math.max(tonumber(places or 1), tonumber(ARGV[3]), slots)
local value = string.format('%d %d', slots, places)
if value ~= stored and places > 1 then
  allow_writes_when_full(KEYS[1])
  redis.call('SET', key, value)
end
return {slots, places}
