-- Workers of an earlier release know no places in flight, turns and unique keys, and leave them behind where they end a message.
-- So a claim that finds nothing to take looks at a few. HEALED counts what is put right: beside workers of this release nothing.
-- land(q): lets go of places in flight of messages that no consumer has.
local function land(q)
  local ids, gone = redis.call('HRANDFIELD', q .. FLYING, 2), {}
  for i, score in ipairs(#ids > 0 and redis.call('ZMSCORE', q .. LEASED, unpack(ids)) or {}) do
    if not score then
      gone[#gone + 1] = ids[i]
    end
  end
  if #gone > 0 then
    leave_flight(q, gone)
    redis.call('HINCRBY', q .. HEALED, 'places', #gone)
  end
end

-- end_turns(q): removes turns of flow keys that have no messages.
local function end_turns(q)
  if redis.call('EXISTS', q .. OPEN) == 0 then
    redis.call('HINCRBY', q .. HEALED, 'turns', redis.call('ZCARD', q .. TURNS))
    redis.call('UNLINK', q .. TURNS)
    return
  end
  local keys = redis.call('ZRANDMEMBER', q .. TURNS, 2)
  for i, place in ipairs(redis.call('ZMSCORE', q .. OPEN, unpack(keys))) do
    if not place then
      redis.call('HINCRBY', q .. HEALED, 'turns', redis.call('ZREM', q .. TURNS, keys[i]))
    end
  end
end

-- end_keys(q): passes unique keys on whose messages are gone, and forgets what was kept of those.
local function end_keys(q)
  local found = redis.call('HRANDFIELD', q .. UNIQUE, 2, 'WITHVALUES')
  for i = 1, #found, 2 do
    local kind, name = string.match(found[i], '^(%a+):(.*)$')
    if kind == 'key' then
      holder_of(q, name)
    else
      local of_next = kind == 'next' and 'due:' .. found[i + 1]
      if redis.call('HEXISTS', q .. (of_next and UNIQUE or PAYLOAD), of_next or name) == 0 then
        free_keys(q, of_next and {} or {name}, true)
        redis.call('HDEL', q .. UNIQUE, found[i])
        redis.call('HINCRBY', q .. HEALED, 'keys', 1)
      end
    end
  end
end

-- tidy(q): all of this, as far as there is any.
local function tidy(q)
  land(q)
  if redis.call('EXISTS', q .. TURNS) == 1 then
    end_turns(q)
  end
  if redis.call('EXISTS', q .. UNIQUE) == 1 then
    end_keys(q)
  end
end
