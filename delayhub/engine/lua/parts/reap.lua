-- reap(q, limit, max_strikes, why): ends leases that ran out. Each costs a strike: the entry goes back to its place in
-- line, or at max_strikes to the dead, for the reason `why`. Returns how many went back and how many died. The token of
-- the first lease that was lost is kept, by which its holder may end the message after all.
local function reap(q, limit, max_strikes, why)
  local returned, died = 0, 0
  local ids, holders = redis.call('ZRANGEBYSCORE', q .. LEASED, '-inf', now, 'LIMIT', 0, limit), {}
  if #ids > 0 then
    ids, holders = without_done(q, ids, redis.call('HMGET', q .. HOLDER, unpack(ids)))
  end
  for i, id in ipairs(ids) do
    local token, step, score = string.match(holders[i] or '', '^(%d+):(%d+):(%d+)$')
    local strikes = redis.call('HINCRBY', q .. STRIKES, id, 1)
    if token then
      redis.call('HSETNX', q .. LOST, id, token)
    end
    redis.call('ZREM', q .. LEASED, id)
    redis.call('HDEL', q .. HOLDER, id)
    if strikes >= max_strikes then
      redis.call('ZADD', q .. DEAD, now, id)
      redis.call('HSET', q .. REASON, id, (why or 'lease ran out') .. ' ' .. strikes .. ' times')
      free_keys(q, {id}, false)
      died = died + 1
    else
      if not takes_turn(q, id, step or 0, now) then
        redis.call('ZADD', q .. READY .. (step or 0), score or now_us, id)
      end
      returned = returned + 1
    end
  end
  leave_flight(q, ids)
  return returned, died
end
