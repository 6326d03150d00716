-- Sets or removes limits of tasks, in one layer: `set` (by a person) wins over `declared` (by code), and `set_at_once` over
-- `declared_at_once`. What was started before counts on. Messages of a task without any limit any more are ready again. The
-- limit of each flow key of a task has the task's name with `\u0000` behind it; what such a limit held back is taken as before.
-- KEYS: queue, lane
-- ARGV: layer, then for each task: its name, µs between starts, or how many at once ('': none in this
--   layer; 0: no limit; 'look': for a flow key, whose limit has changed, that the next claim looks at it), a text about it
-- Returns: how many messages are still parked of tasks without a limit: call it again until none is (1 000 a call)
-- Complexity: O(log n) a task and message that is ready again
-- Uses: now, ring, allow_writes_when_full, task_of, places, parked
allow_writes_when_full(KEYS[1])
local q, layer, left, budget, changed = KEYS[1], ARGV[1], 0, 1000, false

-- limit_in(q, upper, lower, task): a limit of the upper layer, else of the lower one; nil where that is no limit.
local function limit_in(q, upper, lower, task)
  local said, declared = unpack(redis.call('HMGET', q .. LIMITS, upper .. task, lower .. task))
  local value = string.match(said or declared or '', '^%d+')
  return value ~= '0' and value or nil
end

for i = 2, #ARGV, 3 do
  local task = ARGV[i]
  if ARGV[i + 1] == '' then
    redis.call('HDEL', q .. LIMITS, layer .. ':' .. task)
  elseif ARGV[i + 1] ~= 'look' then
    redis.call('HSET', q .. LIMITS, layer .. ':' .. task, ARGV[i + 1] .. ' ' .. ARGV[i + 2])
  end
  local interval, most = limit_in(q, 'set:', 'declared:', task), limit_in(q, 'set_at_once:', 'declared_at_once:', task)
  local parked = q .. PARKED_BY .. task
  local was, next_at, was_most = string.match(redis.call('HGET', q .. LIMITED, task) or '', '^(%d+):(%d+):?(%d*)$')
  if ARGV[i + 1] == 'look' then
    changed = redis.call('ZADD', q .. SHUT, 'XX', 'CH', 0, task) == 1 or changed
  elseif (interval or most) and not ((interval or '0') == was and (most or '') == was_most) then
    next_at = interval and math.min(tonumber(next_at or 0), now_us + interval) or 0
    redis.call('HSET', q .. LIMITED, task, string.format('%s:%.0f%s', interval or 0, next_at, most and ':' .. most or ''))
    represent(q, task, 0) -- the next claim looks at it
    changed = true
  elseif not (interval or most) then
    redis.call('HDEL', q .. LIMITED, task)
    local found = budget > 0 and redis.call('ZPOPMIN', parked, budget) or {}
    for at = 1, #found, 2 do
      local step, score = step_and_score(tonumber(found[at + 1]))
      -- Without one, its queue expired, or was deleted, but not this set.
      if redis.call('HEXISTS', q .. PAYLOAD, found[at]) == 1 then
        redis.call('ZADD', q .. READY .. step, score, found[at])
      end
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
