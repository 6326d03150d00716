-- arrival_of(q, key, limits): the theoretical arrival time (GCRA), in µs, of the permit after the last that the key used.
-- Permits that came while a due timer waited are not lost, for a tenth of a second, as at the gate of the queue.
local function arrival_of(q, key, limits)
  local tat = tonumber(redis.call('GET', base_of(q, key) .. KEY_TAT) or 0)
  local head_us = (first_due(q, base_of(q, key)) or now) * 1000
  return math.max(tat, math.min(math.max(head_us, now_us - CATCH_UP), now_us) - limits.burst * limits.interval)
end

-- open_key(q, key, limits, want): how many timers of the key may pass; when it next may (ms) where that is fewer; and its
-- arrival time where it has a rate.
local function open_key(q, key, limits, want)
  local allowed, reopens, arrival = want, nil, nil
  local shut_until = limits.paused and tonumber(redis.call('HGET', q .. PAUSED, key) or 0) or 0
  if shut_until > now then
    return 0, shut_until
  end
  if limits.most then
    local free = limits.most - tonumber(redis.call('HGET', q .. HELD, key) or 0)
    if free < allowed then
      allowed = math.max(free, 0)
      reopens = tonumber(redis.call('ZRANGE', q .. IN_FLIGHT, 0, 0, 'WITHSCORES')[2])
    end
  end
  if limits.interval then
    arrival = arrival_of(q, key, limits)
    local permits = math.max(math.floor((now_us - arrival + 0.5) / limits.interval), 0)
    if permits < allowed then
      allowed = permits
      reopens = math.max(math.ceil((arrival + (allowed + 1) * limits.interval) / 1000), now + GATHERED)
    end
  end
  return allowed, reopens, arrival
end

-- pass_key(q, key, limits, arrival, count): uses up the key's permits. Once all are back, and no late claim can ask for
-- those before, nothing of them is kept.
local function pass_key(q, key, limits, arrival, count)
  if arrival then
    arrival = arrival + count * limits.interval
    local full_ms = math.ceil((arrival - now_us + limits.burst * limits.interval + CATCH_UP) / 1000)
    redis.call('SET', base_of(q, key) .. KEY_TAT, string.format('%.0f', arrival), 'PX', math.max(full_ms, 1))
  end
end
