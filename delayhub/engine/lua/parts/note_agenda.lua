-- note_agenda(lane, queue, at): puts a timer queue on the agenda, no later than `at` (ms). Rings when that is the
-- earliest time of the lane, since a consumer that sleeps until the old one would be late.
local function note_agenda(lane, queue, at)
  local was = redis.call('ZSCORE', lane .. AGENDA, queue)
  if was and tonumber(was) <= at then
    return
  end
  redis.call('ZADD', lane .. AGENDA, at, queue)
  if redis.call('ZRANGE', lane .. AGENDA, 0, 0)[1] == queue then
    ring(lane)
  end
end
