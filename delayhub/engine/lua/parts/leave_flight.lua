-- leave_flight(q, ids): of messages whose leases end, those whose task may run only so many at once make room for others. A
-- task that is in SHUT for that is looked at by the next claim.
local has_left_flight = false
local function leave_flight(q, ids)
  if #ids == 0 or redis.call('EXISTS', q .. FLYING) == 0 then
    return
  end
  for i, value in ipairs(redis.call('HMGET', q .. FLYING, unpack(ids))) do
    local name, task = value and string.gsub(value, '\r.*$', ''), nil -- with it, its task was acknowledged when it started
    if name and string.byte(name, -1) == 10 then -- a newline: it counts for both its flow key and its task
      name, task = string.match(name, '^((.-)\\u0000.*)\n$')
    end
    while name do
      redis.call('HDEL', q .. FLYING, ids[i])
      if redis.call('HINCRBY', q .. AT_ONCE, name, -1) <= 0 then
        redis.call('HDEL', q .. AT_ONCE, name)
      end
      if redis.call('ZSCORE', q .. SHUT, name) == 'inf' then
        redis.call('ZADD', q .. SHUT, 0, name)
      end
      has_left_flight = true
      name, task = task, nil
    end
  end
end
