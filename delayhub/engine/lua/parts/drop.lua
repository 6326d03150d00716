-- drop(q, ids): as forget, which it calls only where more than payloads may be kept of a message.
local function drop(q, ids)
  redis.call('HDEL', q .. PAYLOAD, unpack(ids))
  if redis.call('EXISTS', q .. STRIKES, q .. COPIES, q .. FLYING, q .. UNIQUE) > 0 then
    seldom().forget(q, ids)
  end
end
