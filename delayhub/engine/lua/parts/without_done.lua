-- without_done(q, ids, holders): of leased messages whose leases end, the ids and holder values of those that are not done.
-- Those that are done are gone.
local function without_done(q, ids, holders)
  if #ids == 0 or redis.call('EXISTS', q .. UNIQUE, q .. FLYING) == 0 then
    return ids, holders
  end
  local left, their_holders = {}, {}
  for i, id in ipairs(ids) do
    local token = string.match(holders[i] or '', '^%d+') or 'none'
    local mark = string.match(redis.call('HGET', q .. FLYING, id) or '', '\r(%d+)$')
    if mark == token or redis.call('HGET', q .. UNIQUE, 'run:' .. id) == token then
      redis.call('ZREM', q .. LEASED, id)
      redis.call('HDEL', q .. HOLDER, id)
      forget(q, {id})
    else
      left[#left + 1], their_holders[#left + 1] = id, holders[i]
    end
  end
  return left, their_holders
end
