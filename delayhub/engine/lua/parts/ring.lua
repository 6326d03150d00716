-- ring(lane): puts a token into the bell, unless one is there.
local function ring(lane)
  if redis.call('LLEN', lane .. WAKE) == 0 then
    redis.call('RPUSH', lane .. WAKE, 1)
  end
end
