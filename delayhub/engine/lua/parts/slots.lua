-- free_slots(q, ids): frees the slots that jobs held, and lets their flow keys come again. Returns how many were held.
-- SLOT_KEYS has the flow key of each job in flight, HELD counts them; both are kept only while keys have a limit.
local function free_slots(q, ids)
  local freed = redis.call('ZREM', q .. IN_FLIGHT, unpack(ids))
  if redis.call('EXISTS', q .. SLOT_KEYS) == 1 then
    for i, key in ipairs(redis.call('HMGET', q .. SLOT_KEYS, unpack(ids))) do
      if key then
        redis.call('HDEL', q .. SLOT_KEYS, ids[i])
        if redis.call('HINCRBY', q .. HELD, key, -1) <= 0 then
          redis.call('HDEL', q .. HELD, key)
        end
        if redis.call('ZSCORE', q .. TURNS, key) then
          note_turn(q, key, now)
        end
      end
    end
  end
  return freed
end

-- hold_slots(q, due, keys, slot_until): notes which flow keys the timers in flight belong to.
local function hold_slots(q, due, keys, slot_until)
  for i = 1, #due, 2 do
    local key, was = keys[i] or '', redis.call('HGET', q .. SLOT_KEYS, due[i])
    redis.call('ZADD', q .. IN_FLIGHT, slot_until, due[i])
    if was ~= key then
      redis.call('HSET', q .. SLOT_KEYS, due[i], key)
      redis.call('HINCRBY', q .. HELD, key, 1)
      if was and redis.call('HINCRBY', q .. HELD, was, -1) <= 0 then
        redis.call('HDEL', q .. HELD, was)
      end
    end
  end
end
