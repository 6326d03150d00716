-- note_claim(lane, limit): leaves the time in Redis at which a worker last asked for due timers, so that others can find
-- out whether any worker takes them. Once a second is enough, or a hundred workers would write a hundred times.
local function note_claim(lane, limit)
  if limit > 0 and math.abs(now - tonumber(redis.call('GET', lane .. CLAIMED) or 0)) >= 1000 then
    redis.call('SET', lane .. CLAIMED, string.format('%.0f', now))
  end
end
