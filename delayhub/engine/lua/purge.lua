-- Removes all messages that no consumer holds, but not the dead: a person decides about those.
-- KEYS: queue
-- ARGV: how many may be leased and dead at most
-- Returns: how many were removed, or -1 where more is leased and dead: nothing was done
-- Complexity: O(leased + dead), bounded by ARGV; what was removed is freed in the background
-- Uses: none
local q = KEYS[1]
if redis.call('ZCARD', q .. LEASED) + redis.call('ZCARD', q .. DEAD) > tonumber(ARGV[1]) then
  return -1
end
local removed = redis.call('ZCARD', q .. WAITING)
redis.call('UNLINK', q .. WAITING)
for step = 0, MAX_STEPS - 1 do
  removed = removed + redis.call('ZCARD', q .. READY .. step)
  redis.call('UNLINK', q .. READY .. step)
end
local kept = redis.call('ZRANGE', q .. LEASED, 0, -1)
for _, id in ipairs(redis.call('ZRANGE', q .. DEAD, 0, -1)) do
  kept[#kept + 1] = id
end
local values = {}
for _, part in ipairs({PAYLOAD, STRIKES, LOST}) do
  values[part] = {}
  for i, id in ipairs(kept) do
    values[part][i] = redis.call('HGET', q .. part, id)
  end
end
redis.call('UNLINK', q .. PAYLOAD, q .. STRIKES, q .. LOST, q .. COPIES)
for i, id in ipairs(kept) do
  for part, of_part in pairs(values) do
    if of_part[i] then
      redis.call('HSET', q .. part, id, of_part[i])
    end
  end
  -- Count the copies that are kept, so that a later revoke finds them.
  local base, number = string.match(id, '^(.*)#(%d+)$')
  if base then
    local drawn = tonumber(redis.call('HGET', q .. COPIES, 'n:' .. base) or 0)
    redis.call('HSET', q .. COPIES, 'n:' .. base, math.max(drawn, tonumber(number)))
    redis.call('HINCRBY', q .. COPIES, 'live:' .. base, 1)
  end
end
return removed
