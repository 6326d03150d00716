-- key_limits(q, line): what each flow key of the queue may do, and by their places in the line what keys used of it: until
-- when they are paused, their slots, their arrival times. Read for all at once: a call for each would cost twice as much.
-- Slots that expired are freed, and where jobs in flight and what is known of their keys differ, the slots count.
local function key_limits(q, line)
  local rate, burst, most = unpack(redis.call('HMGET', q .. GATE, 'key_rate', 'key_burst', 'key_in_flight'))
  if most then
    local expired = redis.call('ZRANGEBYSCORE', q .. IN_FLIGHT, '-inf', now, 'LIMIT', 0, 1000)
    if #expired > 0 then
      free_slots(q, expired)
      redis.call('HINCRBY', KEYS[1] .. LANE_HEALED, 'slots', #expired)
    end
    local known_count, held = redis.call('HLEN', q .. SLOT_KEYS), redis.call('ZCARD', q .. IN_FLIGHT)
    if known_count ~= held then
      if known_count > 0 then -- else the keys have their limit since now
        redis.call('HINCRBY', KEYS[1] .. LANE_HEALED, 'slots', math.abs(known_count - held))
      end
      local known, ids = {}, redis.call('ZRANGE', q .. IN_FLIGHT, 0, -1)
      for i, id in ipairs(ids) do
        known[i] = redis.call('HGET', q .. SLOT_KEYS, id) or ''
      end
      redis.call('DEL', q .. SLOT_KEYS, q .. HELD)
      for i, id in ipairs(ids) do
        redis.call('HSET', q .. SLOT_KEYS, id, known[i])
        redis.call('HINCRBY', q .. HELD, known[i], 1)
      end
    end
  end
  local limits = {
    interval = rate and 1000000 / rate,
    burst = tonumber(burst or 1),
    most = tonumber(most or nil),
    shut = {},
    held = {},
    arrivals = {},
  }
  if #line > 0 and redis.call('EXISTS', q .. PAUSED) == 1 then
    limits.shut = redis.call('HMGET', q .. PAUSED, unpack(line))
  end
  if #line > 0 and most then
    limits.held = redis.call('HMGET', q .. HELD, unpack(line))
    limits.slot_ends = tonumber(redis.call('ZRANGE', q .. IN_FLIGHT, 0, 0, 'WITHSCORES')[2])
  end
  if #line > 0 and rate then
    local names = {}
    for place, key in ipairs(line) do
      names[place] = base_of(q, key) .. KEY_TAT
    end
    limits.arrivals = redis.call('MGET', unpack(names))
  end
  return limits
end
