-- is_shut(limit): whether a limit lets none start now.
local function is_shut(limit)
  return limit.next > now_us or limit.most ~= nil and limit.flying >= limit.most
end

-- reopens_at(q, name): when the limit of a task or flow key next lets one start (ms), or nil where it lets one start now. Those that have
-- waited for it start some at a time, so that claims are at least 10 ms apart.
local function reopens_at(q, name)
  local limit = limit_of(q, name)
  if not limit or not is_shut(limit) then
    return nil
  end
  local is_full = limit.most ~= nil and limit.flying >= limit.most -- until one of them ends
  return is_full and math.huge or math.max(math.ceil(limit.next / 1000), now + 10)
end

-- use_permit(q, name, limit, is_key): one of the task, or of the flow key, starts, whose limit has an interval. A claim always
-- comes a little late; what the limit would have let start in the last quarter of an interval (20 ms, where that is more) is
-- not lost. What is kept of a key ends by itself.
local function use_permit(q, name, limit, is_key)
  local caught_up = math.max(limit.interval / 4, 20000)
  limit.next = math.max(limit.next, now_us - caught_up) + limit.interval
  if is_key then
    local left_ms = math.ceil((limit.next + caught_up - now_us) / 1000) + 1
    redis.call('SET', q .. KEY .. name .. KEY_TAT, string.format('%.0f', limit.next), 'PX', string.format('%.0f', left_ms))
    return
  end
  local most = limit.most and ':' .. limit.most or ''
  redis.call('HSET', q .. LIMITED, name, string.format('%.0f:%.0f%s', limit.interval, limit.next, most))
end
