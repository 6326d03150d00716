-- A unique key belongs to one message of the queue: `key:<key>` in UNIQUE has its id. Each message that has a key, waits for it,
-- or is dead and had it, has `id:<id>` there: until when it has it ('e': its end, 's': its start), 'c' (part of a canvas) or
-- '-', ':', when it expires (ms; 0: never), ':', the key. Those that wait for it are in FOLLOWERS, and in WAITING for a while;
-- `due:<id>` has their true score there and their number, `next:<key>` the id of one that a newer one may replace. `run:<id>`
-- marks a message that is acknowledged, but whose task still runs: the token of its lease. `was:<id>` keeps what a message has
-- replaced, as long as that message is there: id, NUL, payload.
-- unfollow(q, key, id): a message waits for its key no more. Returns its true score, or nil where it did not wait.
local function unfollow(q, key, id)
  local score, number = string.match(redis.call('HGET', q .. UNIQUE, 'due:' .. id) or '', '^(%d+) (%d+)$')
  if score then
    redis.call('ZREM', q .. FOLLOWERS, key .. '\0' .. number .. '\0' .. id)
    local is_next = redis.call('HGET', q .. UNIQUE, 'next:' .. key) == id
    redis.call('HDEL', q .. UNIQUE, 'due:' .. id, is_next and 'next:' .. key or 'due:' .. id)
  end
  return score
end

-- pass_key(q, key): the key's message is done: the first that waits for it has it now. Returns its id, or nil: the key is free.
-- Those that are gone are passed over: their queue expired, but not this set (see parts/land.lua).
local function pass_key(q, key)
  while true do
    local first = redis.call('ZRANGEBYLEX', q .. FOLLOWERS, '[' .. key .. '\0', '(' .. key .. '\1', 'LIMIT', 0, 1)[1]
    if not first then
      break
    end
    local id = string.sub(first, #key + 19) -- behind a NUL, a number of 16 digits, and a NUL
    local score = unfollow(q, key, id)
    redis.call('ZREM', q .. FOLLOWERS, first)
    if score and redis.call('HEXISTS', q .. PAYLOAD, id) == 1 then
      redis.call('HSET', q .. UNIQUE, 'key:' .. key, id)
      redis.call('ZADD', q .. WAITING, 'XX', score, id)
      return id
    end
    redis.call('HDEL', q .. UNIQUE, 'id:' .. id)
    redis.call('HINCRBY', q .. HEALED, 'keys', 1)
  end
  redis.call('HDEL', q .. UNIQUE, 'key:' .. key)
  return nil
end
