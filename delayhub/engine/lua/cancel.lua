-- Removes messages that no consumer holds, with their copies, and may leave tombstones.
-- KEYS: queue
-- ARGV: tombstone ms (0: none), first and last of the copies looked at (0: the id itself), then ids
-- Returns: for each id: how many entries were removed
-- Complexity: O(log n) an id and copy
-- Uses: now, leave_flight, pass_key, forget, task_of, places, parked, lift, names
local q, tombstone, first, last = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local out = {}
redis.call('ZREMRANGEBYSCORE', q .. REVOKED, '-inf', now)
for i = 4, #ARGV do
  local removed = {}
  for _, id in ipairs(names(q, ARGV[i], first, last)) do
    if lift(q, id, false) ~= 'leased' then
      removed[#removed + 1] = id
    end
  end
  if #removed > 0 then
    forget(q, removed)
  end
  if tombstone > 0 then
    redis.call('ZADD', q .. REVOKED, 'GT', now + tombstone, ARGV[i]) -- an import leaves longer ones
  end
  out[#out + 1] = #removed
end
return out
