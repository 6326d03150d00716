-- give_key(q, key, id, about): a message has a key from now on.
local function give_key(q, key, id, about)
  redis.call('HSET', q .. UNIQUE, 'key:' .. key, id, 'id:' .. id, about .. ':' .. key)
end

-- wait_until(q, id, due, step): whether a message waits for its key; it is then due at that time, once it has the key.
local function wait_until(q, id, due, step)
  local number = string.match(redis.call('HGET', q .. UNIQUE, 'due:' .. id) or '', '^%d+ (%d+)$')
  if number then
    local score = string.format('%d', due * 16 + step)
    redis.call('HSET', q .. UNIQUE, 'due:' .. id, score .. ' ' .. number)
    put_off(q, id, score)
  end
  return number ~= nil
end

-- take_again(q, id): whether a dead message may be ready again: it has no unique key, or its key is free, and now its own.
local function take_again(q, id)
  local key, about = key_of(q, id)
  if key and holder_of(q, key) then
    return false
  elseif key then
    give_key(q, key, id, about)
  end
  return true
end
