-- Removes messages that nobody holds, with their copies, and may leave tombstones.
-- KEYS: queue
-- ARGV: tombstone ms (0: none), then ids
-- Returns: for each id: how many entries were removed
-- Complexity: O(log n) an id and copy
-- Uses: now, forget, lift, names
local q, tombstone = KEYS[1], tonumber(ARGV[1])
local out = {}
redis.call('ZREMRANGEBYSCORE', q .. REVOKED, '-inf', now)
for i = 2, #ARGV do
  local removed = {}
  for _, id in ipairs(names(q, ARGV[i])) do
    if lift(q, id, false) ~= 'leased' then
      removed[#removed + 1] = id
    end
  end
  if #removed > 0 then
    forget(q, removed)
  end
  if tombstone > 0 then
    redis.call('ZADD', q .. REVOKED, now + tombstone, ARGV[i])
  end
  out[#out + 1] = #removed
end
return out
