-- open_gate(q, want, name, ungated): how many timers the queue's gate lets through now; when it next lets one through (ms)
-- where that is fewer than asked; and since when its permits count (µs) where it has a rate. Without a revision it is shut,
-- and its name is added to `ungated`; where that is nil it is open: nothing but a revision tells that somebody wrote a gate.
local function open_gate(q, want, name, ungated)
  local rate, burst, max_in_flight, shut_until, tat, revision = unpack(
    redis.call('HMGET', q .. GATE, 'rate', 'burst', 'max_in_flight', 'shut_until', 'tat', 'revision'))
  if ungated and not revision then
    ungated[#ungated + 1] = name
    return 0, now + 1000
  end
  if shut_until and tonumber(shut_until) > now then
    return 0, tonumber(shut_until)
  end
  local allowed, reopens, since = want, nil, nil
  if max_in_flight then
    local expired = redis.call('ZREMRANGEBYSCORE', q .. IN_FLIGHT, '-inf', now)
    if expired > 0 then
      redis.call('HINCRBY', KEYS[1] .. LANE_HEALED, 'slots', expired)
    end
    local free = tonumber(max_in_flight) - redis.call('ZCARD', q .. IN_FLIGHT)
    if free < allowed then
      allowed = math.max(free, 0)
      local first = redis.call('ZRANGE', q .. IN_FLIGHT, 0, 0, 'WITHSCORES')[2]
      reopens = first and tonumber(first)
    end
  end
  if rate then
    local interval = 1000000 / rate
    since = permits_from(q, tat, tonumber(burst or 1) * interval, shut_until)
    local permits = math.floor((now_us - since + 0.5) / interval)
    if permits < allowed then
      allowed = math.max(permits, 0)
      reopens = math.ceil((since + (allowed + 1) * interval) / 1000)
    end
  end
  return allowed, reopens, since
end

-- pass_gate(q, ids, slot_until, since, held): uses up permits and slots for the timers that were let through; so many of the
-- slots are held already. Returns how many slots they did not need, since they had them from a claim before.
local function pass_gate(q, ids, slot_until, since, held)
  local rate, max_in_flight = unpack(redis.call('HMGET', q .. GATE, 'rate', 'max_in_flight'))
  if rate then
    redis.call('HSET', q .. GATE, 'tat', string.format('%.0f', since + #ids * 1000000 / rate))
  end
  if max_in_flight then
    local ends, ending = {}, string.format('%d', slot_until)
    for i, id in ipairs(ids) do
      ends[i * 2 - 1], ends[i * 2] = ending, id
    end
    return #ids - held - redis.call('ZADD', q .. IN_FLIGHT, unpack(ends))
  end
  return 0
end
