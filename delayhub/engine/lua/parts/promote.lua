-- promote(q, limit): moves up to `limit` due ids from waiting to ready, by due time and priority step.
local function promote(q, limit)
  local due = redis.call('ZRANGEBYSCORE', q .. WAITING, '-inf', now * 16 + 15, 'WITHSCORES', 'LIMIT', 0, limit)
  if #due > 0 and redis.call('EXISTS', q .. FOLLOWERS) == 1 then
    due = seldom().hold_back(q, due)
  end
  if #due == 0 then
    return
  end
  local ids, by_step = {}, {}
  for i = 1, #due, 2 do
    local score = tonumber(due[i + 1])
    local step = score % 16
    ids[#ids + 1] = due[i]
    by_step[step] = by_step[step] or {}
    local pairs_of_step = by_step[step]
    pairs_of_step[#pairs_of_step + 1] = string.format('%d', (score - step) / 16 * 1000 + #ids % 1000)
    pairs_of_step[#pairs_of_step + 1] = due[i]
  end
  redis.call('ZREM', q .. WAITING, unpack(ids))
  for step, scored in pairs(by_step) do
    redis.call('ZADD', q .. READY .. step, unpack(scored))
  end
end
