-- free_keys(q, ids, are_gone): these messages have no unique key any more, and wait for none. Those that are dead, not gone,
-- keep what says which key they had.
local function free_keys(q, ids, are_gone)
  for _, id in ipairs(redis.call('EXISTS', q .. UNIQUE) == 1 and ids or {}) do
    local about, is_running = unpack(redis.call('HMGET', q .. UNIQUE, 'id:' .. id, 'run:' .. id))
    local key = string.match(about or '', '^..:%d+:(.*)$')
    if key then
      unfollow(q, key, id)
      if redis.call('HGET', q .. UNIQUE, 'key:' .. key) == id then
        pass_key(q, key)
      end
      redis.call('HDEL', q .. UNIQUE, 'run:' .. id, are_gone and 'id:' .. id or 'run:' .. id)
    elseif is_running then -- a person has freed its key while it ran
      redis.call('HDEL', q .. UNIQUE, 'run:' .. id)
    end
  end
end

-- forget(q, ids): removes what is kept beside the sets of ids that are in none of them any more.
local function forget(q, ids)
  free_keys(q, ids, true) -- while their payloads are there: the next one with a key may be one of these
  redis.call('HDEL', q .. PAYLOAD, unpack(ids))
  if redis.call('EXISTS', q .. STRIKES, q .. COPIES, q .. FLYING, q .. UNIQUE) == 0 then
    return
  end
  leave_flight(q, ids)
  if redis.call('EXISTS', q .. STRIKES) == 1 then
    redis.call('HDEL', q .. STRIKES, unpack(ids))
    redis.call('HDEL', q .. LOST, unpack(ids)) -- a lost lease is a strike
  end
  if redis.call('EXISTS', q .. COPIES) == 1 then
    for _, id in ipairs(ids) do
      local base = string.match(id, '^(.*)#%d+$')
      if base and redis.call('HEXISTS', q .. COPIES, 'live:' .. base) == 1 then
        if redis.call('HINCRBY', q .. COPIES, 'live:' .. base, -1) <= 0 then
          redis.call('HDEL', q .. COPIES, 'live:' .. base, 'n:' .. base)
        end
      end
    end
  end
  for _, id in ipairs(redis.call('EXISTS', q .. UNIQUE) == 1 and ids or {}) do
    redis.call('HDEL', q .. UNIQUE, 'was:' .. id)
  end
end
