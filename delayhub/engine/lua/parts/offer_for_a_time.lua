-- base_name(q, id): the id that a copy is a copy of, or the id itself.
local function base_name(q, id)
  local base = string.match(id, '^(.*)#%d+$')
  return base and redis.call('HEXISTS', q .. COPIES, 'live:' .. base) == 1 and base or id
end

-- store(q, m): stores a message, as a copy where its id is taken; returns the name it got.
local function store(q, m)
  if redis.call('HSETNX', q .. PAYLOAD, m.id, m.payload) == 1 then
    return m.id
  end
  return copy_of(q, m.id, m.payload)
end

-- offer_for_a_time(q, lane, m): offer, where the key is taken for m.ms, whatever becomes of the message. What may not be refused
-- passes.
local function offer_for_a_time(q, lane, m)
  local till = tonumber(redis.call('ZSCORE', q .. TIMED, m.key) or 0)
  local holder = till > now and redis.call('HGET', q .. TIMED_IDS, m.key)
  if holder and m.mode == 'refuse' then
    return 'refused', holder
  end
  local name = store(q, m)
  place(q, lane, name, m.due, m.step)
  if not holder then
    for _, key in ipairs(redis.call('ZRANGEBYSCORE', q .. TIMED, '-inf', now, 'LIMIT', 0, 100)) do
      redis.call('ZREM', q .. TIMED, key)
      redis.call('HDEL', q .. TIMED_IDS, key)
    end
    redis.call('ZADD', q .. TIMED, now + m.ms, m.key)
    redis.call('HSET', q .. TIMED_IDS, m.key, m.id)
    local longest = math.max(m.ms, redis.call('PTTL', q .. TIMED))
    redis.call('PEXPIRE', q .. TIMED, longest)
    redis.call('PEXPIRE', q .. TIMED_IDS, longest)
  end
  return 'added', name
end
