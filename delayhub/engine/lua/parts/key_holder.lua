-- holder_of(q, key): the id of the message that has a unique key, or nil where the key is free: also where its message has
-- expired where it waits, since it would never run, or is gone: its queue expired, but not this key (see parts/land.lua). One
-- call passes a key over a hundred of those at most.
local function holder_of(q, key)
  local id, passed = redis.call('HGET', q .. UNIQUE, 'key:' .. key), 0
  while id and passed < 100 do
    local expires = tonumber(string.match(redis.call('HGET', q .. UNIQUE, 'id:' .. id) or '', '^..:(%d+):') or 0)
    local is_over = expires > 0 and expires <= now and not redis.call('ZSCORE', q .. LEASED, id)
    local is_there = redis.call('HEXISTS', q .. PAYLOAD, id) == 1
    if is_there and not is_over then
      return id
    elseif not is_there then
      redis.call('HINCRBY', q .. HEALED, 'keys', 1)
    end
    id, passed = pass_key(q, key), passed + 1
  end
  return id
end

-- key_of(q, id): the unique key that a message has, waits for, or had when it died, and what is known beside it; or nil.
local function key_of(q, id)
  local about, key = string.match(redis.call('HGET', q .. UNIQUE, 'id:' .. id) or '', '^(..:%d+):(.*)$')
  return key, about
end

-- put_off(q, id, score): one that waits for its key is looked at again in a while: the one that has it may have expired by then.
local function put_off(q, id, score)
  redis.call('ZADD', q .. WAITING, string.format('%d', math.max(tonumber(score), (now + 300000) * 16 + score % 16)), id)
end

-- follow(q, key, id, about, due, step): a message waits for its key, behind those that do so already.
local function follow(q, key, id, about, due, step)
  local score, number = string.format('%d', due * 16 + step), string.format('%016d', now_us)
  redis.call('ZADD', q .. FOLLOWERS, 0, key .. '\0' .. number .. '\0' .. id)
  redis.call('HSET', q .. UNIQUE, 'due:' .. id, score .. ' ' .. number, 'id:' .. id, about .. ':' .. key)
  put_off(q, id, score)
end

-- takes_turn(q, id, step, due): whether a message that comes back from a consumer waits for its unique key, which another has by
-- now: a retry, which its task published before its process was lost. It is due at that time, once it has the key.
local function takes_turn(q, id, step, due)
  local key, about = nil, nil
  if redis.call('EXISTS', q .. UNIQUE) == 1 then
    key, about = key_of(q, id)
  end
  local holder = key and holder_of(q, key)
  if key and not holder then
    redis.call('HSET', q .. UNIQUE, 'key:' .. key, id)
  elseif holder and holder ~= id then
    follow(q, key, id, about, due, tonumber(step))
    return true
  end
  return false
end
