-- Removes all messages that no consumer holds, but not the dead: a person decides about those.
-- KEYS: queue
-- ARGV: how many may be leased and dead at most, with the tasks that have parked messages
-- Returns: how many were removed, or -1 where there is more to look at: nothing was done
-- Complexity: O(leased + dead + tasks with parked messages), bounded by ARGV; what was removed is freed in the background
-- Uses: task_of, places, parked, keep_key
local q = KEYS[1]
local tasks = redis.call('ZCARD', q .. OPEN) + redis.call('ZCARD', q .. SHUT)
if redis.call('ZCARD', q .. LEASED) + redis.call('ZCARD', q .. DEAD) + tasks > tonumber(ARGV[1]) then
  return -1
end
local removed = redis.call('ZCARD', q .. WAITING)
redis.call('UNLINK', q .. WAITING)
for step = 0, MAX_STEPS - 1 do
  removed = removed + redis.call('ZCARD', q .. READY .. step)
  redis.call('UNLINK', q .. READY .. step)
end
removed = removed + tonumber(redis.call('GET', q .. PARKED) or 0)
for _, task in ipairs(parking_tasks(q)) do
  redis.call('UNLINK', q .. PARKED_BY .. task)
end
redis.call('UNLINK', q .. PARKED, q .. OPEN, q .. SHUT, q .. TURNS)
local kept = redis.call('ZRANGE', q .. LEASED, 0, -1)
for _, id in ipairs(redis.call('ZRANGE', q .. DEAD, 0, -1)) do
  kept[#kept + 1] = id
end
local values, keys = {}, {}
for i, id in ipairs(redis.call('EXISTS', q .. UNIQUE) == 1 and kept or {}) do
  keys[i] = redis.call('HMGET', q .. UNIQUE, 'id:' .. id, 'run:' .. id)
end
for _, part in ipairs({PAYLOAD, STRIKES, LOST}) do
  values[part] = {}
  for i, id in ipairs(kept) do
    values[part][i] = redis.call('HGET', q .. part, id)
  end
end
redis.call('UNLINK', q .. PAYLOAD, q .. STRIKES, q .. LOST, q .. COPIES)
redis.call('UNLINK', q .. UNIQUE, q .. FOLLOWERS, q .. TIMED, q .. TIMED_IDS)
for i, id in ipairs(kept) do
  for part, of_part in pairs(values) do
    if of_part[i] then
      redis.call('HSET', q .. part, id, of_part[i])
    end
  end
  keep_key(q, id, keys[i])
  -- Count the copies that are kept, so that a later revoke finds them.
  local base, number = string.match(id, '^(.*)#(%d+)$')
  if base then
    local drawn = tonumber(redis.call('HGET', q .. COPIES, 'n:' .. base) or 0)
    redis.call('HSET', q .. COPIES, 'n:' .. base, math.max(drawn, tonumber(number)))
    redis.call('HINCRBY', q .. COPIES, 'live:' .. base, 1)
  end
end
return removed
