-- outlook(q): whether something is ready or due now, and when the queue next needs a claim (ms, or nil).
local function outlook(q)
  local left, wake_at = false, nil
  for step = 0, MAX_STEPS - 1 do
    left = left or redis.call('EXISTS', q .. READY .. step) == 1
  end
  local head = redis.call('ZRANGE', q .. WAITING, 0, 0, 'WITHSCORES')[2]
  if head then
    wake_at = math.floor(tonumber(head) / 16)
    left = left or wake_at <= now
  end
  local lease_end = redis.call('ZRANGE', q .. LEASED, 0, 0, 'WITHSCORES')[2]
  if lease_end and (not wake_at or tonumber(lease_end) < wake_at) then
    wake_at = tonumber(lease_end)
  end
  return left, wake_at
end

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
