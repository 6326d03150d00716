-- alarm(lane, consumer, at): 1 if this consumer is the one to wake at that time: the first that asked for the earliest
-- time. The others wake a little later, so that a hundred workers don't make a hundred empty claims per due moment.
local function alarm(lane, consumer, at)
  if at <= now or at > now + 1500 then
    return 1
  end
  local time, holder = string.match(redis.call('GET', lane .. ALARM) or '', '^(%d+):(.*)$')
  if holder and holder ~= consumer and tonumber(time) <= at and tonumber(time) > now then
    return 0
  end
  redis.call('SET', lane .. ALARM, string.format('%.0f:%s', at, consumer), 'PX', at - now + 1000)
  return 1
end
