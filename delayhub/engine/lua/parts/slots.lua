-- count_held(q, counts): adds to how many slots each flow key holds.
local function count_held(q, counts)
  for key, by in pairs(counts) do
    if by ~= 0 and redis.call('HINCRBY', q .. HELD, key, by) <= 0 then
      redis.call('HDEL', q .. HELD, key)
    end
  end
end

-- free_slots(q, ids): frees the slots that jobs held, and lets their flow keys come again. Returns how many were held.
-- SLOT_KEYS has the flow key of each job in flight, HELD counts them; both are kept only while keys have a limit.
local function free_slots(q, ids)
  local freed = redis.call('ZREM', q .. IN_FLIGHT, unpack(ids))
  if redis.call('EXISTS', q .. SLOT_KEYS) == 1 then
    local known, counts, seen = {}, {}, {}
    for i, key in ipairs(redis.call('HMGET', q .. SLOT_KEYS, unpack(ids))) do
      if key and not seen[ids[i]] then
        seen[ids[i]] = true
        known[#known + 1] = ids[i]
        counts[key] = (counts[key] or 0) - 1
      end
    end
    if #known > 0 then
      redis.call('HDEL', q .. SLOT_KEYS, unpack(known))
    end
    count_held(q, counts)
    for key in pairs(counts) do
      come_again(q, key)
    end
  end
  return freed
end

-- hold_slots(q, due, keys, slot_until): notes which flow keys the timers in flight belong to. Returns how many slots are new:
-- a timer may still have that of a claim before, whose worker died. Its key then has room for another timer.
local function hold_slots(q, due, keys, slot_until)
  local ids, ends, of_id, counts, ending = {}, {}, {}, {}, string.format('%d', slot_until)
  for i = 1, #due, 2 do
    ids[#ids + 1] = due[i]
    ends[i], ends[i + 1] = ending, due[i]
    of_id[i], of_id[i + 1] = due[i], keys[i] or ''
  end
  if #ids == 0 then
    return 0
  end
  local added = redis.call('ZADD', q .. IN_FLIGHT, unpack(ends))
  for i, was in ipairs(redis.call('HMGET', q .. SLOT_KEYS, unpack(ids))) do
    local key = of_id[i * 2]
    if was ~= key then
      counts[key] = (counts[key] or 0) + 1
    end
    if was then
      counts[was] = (counts[was] or 0) - (was ~= key and 1 or 0)
      come_again(q, was)
    end
  end
  redis.call('HSET', q .. SLOT_KEYS, unpack(of_id))
  count_held(q, counts)
  return added
end
