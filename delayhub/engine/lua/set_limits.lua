-- Sets or removes limits of tasks, in one of two layers: `set` (by a person) wins over `declared` (by code). What was started
-- before counts on. Messages of a task that has no limit any more are ready again.
-- KEYS: queue, lane
-- ARGV: layer, then for each task: its name, µs between starts ('': none in this layer; 0: no limit), a text about it
-- Returns: how many messages are still parked of tasks without a limit: call it again until none is (1 000 a call)
-- Complexity: O(log n) a task and message that is ready again
-- Uses: now, ring, task_of, places, parked
local q, layer, left, budget, changed = KEYS[1], ARGV[1], 0, 1000, false
for i = 2, #ARGV, 3 do
  local task, interval = ARGV[i], nil
  if ARGV[i + 1] == '' then
    redis.call('HDEL', q .. LIMITS, layer .. ':' .. task)
  else
    redis.call('HSET', q .. LIMITS, layer .. ':' .. task, ARGV[i + 1] .. ' ' .. ARGV[i + 2])
  end
  for _, value in ipairs(redis.call('HMGET', q .. LIMITS, 'set:' .. task, 'declared:' .. task)) do
    interval = interval or value and string.match(value, '^%d+')
  end
  local parked = q .. PARKED_BY .. task
  local was, next_at = string.match(redis.call('HGET', q .. LIMITED, task) or '', '^(%d+):(%d+)$')
  if interval and interval ~= '0' and interval ~= was then
    next_at = math.min(tonumber(next_at or 0), now_us + tonumber(interval))
    redis.call('HSET', q .. LIMITED, task, string.format('%s:%.0f', interval, next_at))
    represent(q, task, next_at > now_us and math.ceil(next_at / 1000))
    changed = true
  elseif not interval or interval == '0' then
    redis.call('HDEL', q .. LIMITED, task)
    local found = budget > 0 and redis.call('ZPOPMIN', parked, budget) or {}
    for at = 1, #found, 2 do
      local step, score = step_and_score(tonumber(found[at + 1]))
      redis.call('ZADD', q .. READY .. step, score, found[at])
    end
    count_parked(q, -#found / 2)
    budget, changed, left = budget - #found / 2, changed or #found > 0, left + redis.call('ZCARD', parked)
    represent(q, task)
  end
end
if changed then
  ring(KEYS[2])
end
return left
