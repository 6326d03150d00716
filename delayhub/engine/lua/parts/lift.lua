-- lift(q, id, leased_too): takes an id out of the set it is in and returns that set's name, or nil; and the step of a parked
-- one.
-- A leased id is left where it is unless leased_too.
local function lift(q, id, leased_too)
  if redis.call('ZREM', q .. WAITING, id) == 1 then
    return 'waiting'
  end
  if redis.call('ZSCORE', q .. LEASED, id) then
    if leased_too then
      redis.call('ZREM', q .. LEASED, id)
      redis.call('HDEL', q .. HOLDER, id)
      leave_flight(q, {id})
    end
    return 'leased'
  end
  for step = 0, MAX_STEPS - 1 do
    if redis.call('ZREM', q .. READY .. step, id) == 1 then
      return 'ready'
    end
  end
  if redis.call('ZREM', q .. DEAD, id) == 1 then
    redis.call('HDEL', q .. REASON, id)
    return 'dead'
  end
  local step = unpark(q, id)
  if step then
    return 'parked', step
  end
  return nil
end
