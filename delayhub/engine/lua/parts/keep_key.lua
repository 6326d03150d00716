-- keep_key(q, id, kept): a message that a purge leaves has its unique key as before, where a consumer holds it; a dead one keeps
-- what says which it had. `kept`: its fields `id:` and `run:`, as they were, or nil.
local function keep_key(q, id, kept)
  if kept and kept[2] then -- also where a person has freed its key while it ran
    redis.call('HSET', q .. UNIQUE, 'run:' .. id, kept[2])
  end
  if kept and kept[1] then
    redis.call('HSET', q .. UNIQUE, 'id:' .. id, kept[1])
    local key = redis.call('ZSCORE', q .. LEASED, id) and string.match(kept[1], '^..:%d+:(.*)$')
    if key then
      redis.call('HSET', q .. UNIQUE, 'key:' .. key, id)
    end
  end
end
