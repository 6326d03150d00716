-- ring(lane): puts a token into the bell, unless there is one.
local rung = {}
local function ring(lane)
  if not rung[lane] and redis.call('LLEN', lane .. WAKE) == 0 then
    redis.call('RPUSH', lane .. WAKE, 1)
  end
  rung[lane] = true
end
