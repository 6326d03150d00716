-- limit_of(q, task): the limit of a task that is in force: {interval, next}, both in µs, or nil. `next`: when the next may
-- start, by what was started before (GCRA with a burst of one).
local limit_cache = {}
local function limit_of(q, task)
  local name = q .. '\0' .. task
  if limit_cache[name] == nil then
    local interval, next_at = string.match(redis.call('HGET', q .. LIMITED, task) or '', '^(%d+):(%d+)$')
    limit_cache[name] = interval and {interval = tonumber(interval), next = tonumber(next_at)} or false
  end
  return limit_cache[name] or nil
end

-- reopens_at(q, task): when the task's limit next lets one start (ms), or nil where it lets one start now. Those that have
-- waited for it start some at a time, so that claims are at least 10 ms apart.
local function reopens_at(q, task)
  local limit = limit_of(q, task)
  if not limit or limit.next <= now_us then
    return nil
  end
  return math.max(math.ceil(limit.next / 1000), now + 10)
end

-- use_permit(q, task): one of the task starts. A claim always comes a little late; what the limit would have let start in
-- the last quarter of an interval (20 ms, where that is more) is not lost.
local function use_permit(q, task)
  local limit = limit_of(q, task)
  if limit then
    local caught_up = math.max(limit.interval / 4, 20000)
    limit.next = math.max(limit.next, now_us - caught_up) + limit.interval
    redis.call('HSET', q .. LIMITED, task, string.format('%.0f:%.0f', limit.interval, limit.next))
  end
end
