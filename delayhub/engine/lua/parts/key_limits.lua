-- key_limits(q): what each flow key of the queue may do: {rate, burst, in flight}, and whether any key is paused. Slots
-- that expired are freed, and where jobs in flight and what is known of their keys differ, the slots count.
local function key_limits(q)
  local rate, burst, most = unpack(redis.call('HMGET', q .. GATE, 'key_rate', 'key_burst', 'key_in_flight'))
  if most then
    local expired = redis.call('ZRANGEBYSCORE', q .. IN_FLIGHT, '-inf', now, 'LIMIT', 0, 1000)
    if #expired > 0 then
      free_slots(q, expired)
    end
    if redis.call('HLEN', q .. SLOT_KEYS) ~= redis.call('ZCARD', q .. IN_FLIGHT) then
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
  return {
    interval = rate and 1000000 / rate,
    burst = tonumber(burst or 1),
    most = tonumber(most or nil),
    paused = redis.call('EXISTS', q .. PAUSED) == 1,
  }
end
