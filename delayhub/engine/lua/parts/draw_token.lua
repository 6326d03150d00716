-- draw_token(lane): the fencing token of a claim's leases, greater than all before. It begins at Redis' clock in each ms, since a
-- counter goes back with Redis (a crash, a failover): leases of what was forgotten would have the tokens of later ones.
local function draw_token(lane)
  local token, begin = redis.call('INCR', lane .. TOKEN), (now - PARK_SINCE / 1000) * 100
  if token < begin then
    token = begin
    redis.call('SET', lane .. TOKEN, string.format('%d', token))
  end
  return token
end
