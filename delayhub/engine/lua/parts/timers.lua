-- reap_timers(q, limit): ends leases that ran out; whether any was of a timer with a flow key. Each costs a strike, and
-- the timer waits for its own time again. A timer never dies: its row decides. Its slot is free too, or the gate would
-- hold it back until the slot expires; where the job runs and only the acknowledgement was lost, the next claim of the
-- timer would free the slot anyway.
local function reap_timers(q, limit)
  local ids, some_keyed = redis.call('ZRANGEBYSCORE', q .. LEASED, '-inf', now, 'LIMIT', 0, limit), false
  for _, id in ipairs(ids) do
    local score, key = string.match(redis.call('HGET', q .. HOLDER, id) or '', '^%d+:%d+:(%d+):?(.*)$')
    redis.call('HINCRBY', q .. STRIKES, id, 1)
    redis.call('ZREM', q .. LEASED, id)
    redis.call('HDEL', q .. HOLDER, id)
    free_slots(q, {id})
    wait_again(q, key or '', id, score or now * 16 + MIDDLE_STEP)
    some_keyed = some_keyed or (key or '') ~= ''
  end
  return some_keyed
end

-- lease_timers(q, due, keys, lease_end, token): leases the timers {id, score, …}; `keys` holds their flow keys, where they
-- have any. Returns their ids and {id, strikes, …}.
local function lease_timers(q, due, keys, lease_end, token)
  local ids, leases, holders, struck, ending = {}, {}, {}, {}, string.format('%d', lease_end)
  for i = 1, #due, 2 do
    ids[#ids + 1] = due[i]
    leases[i], leases[i + 1] = ending, due[i]
    holders[i], holders[i + 1] = due[i], token .. ':' .. due[i + 1] % 16 .. ':' .. due[i + 1]
    if keys[i] then
      holders[i + 1] = holders[i + 1] .. ':' .. keys[i]
    end
  end
  if #ids == 0 then
    return ids, struck
  end
  redis.call('ZADD', q .. LEASED, unpack(leases))
  redis.call('HSET', q .. HOLDER, unpack(holders))
  if redis.call('EXISTS', q .. STRIKES) == 1 then
    for i, strikes in ipairs(redis.call('HMGET', q .. STRIKES, unpack(ids))) do
      if strikes then
        struck[#struck + 1], struck[#struck + 2] = ids[i], tonumber(strikes)
      end
    end
  end
  return ids, struck
end
