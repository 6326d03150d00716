-- Due messages whose task has a limit are parked by task, in their order. Such a task is in exactly one of two sets: in OPEN
-- at the place of its first message while the limit lets one start, else in SHUT at the time when it next does.
-- represent(q, task, reopens): puts a task into OPEN, or into SHUT until `reopens` (ms), or into neither where none of its
-- messages is parked.
local function represent(q, task, reopens)
  local first = redis.call('ZRANGE', q .. PARKED_BY .. task, 0, 0, 'WITHSCORES')
  if first[1] and reopens then
    redis.call('ZREM', q .. OPEN, task)
    redis.call('ZADD', q .. SHUT, reopens, task)
  else
    redis.call('ZREM', q .. SHUT, task)
    if first[1] then
      redis.call('ZADD', q .. OPEN, first[2], task)
    else
      redis.call('ZREM', q .. OPEN, task)
    end
  end
end

-- count_parked(q, by): counts the parked messages of the queue.
local function count_parked(q, by)
  if by ~= 0 and redis.call('INCRBY', q .. PARKED, by) <= 0 then
    redis.call('DEL', q .. PARKED)
  end
end

-- unpark(q, id): takes a parked message out of its set; returns its step, or nil where it is not parked.
local function unpark(q, id)
  if redis.call('EXISTS', q .. PARKED) == 0 then
    return nil
  end
  local task = task_of(redis.call('HGET', q .. PAYLOAD, id) or '')
  local place = task and redis.call('ZSCORE', q .. PARKED_BY .. task, id)
  if not place then
    return nil
  end
  redis.call('ZREM', q .. PARKED_BY .. task, id)
  count_parked(q, -1)
  represent(q, task, redis.call('ZSCORE', q .. SHUT, task))
  return (step_and_score(tonumber(place)))
end

-- parking_tasks(q): the tasks with parked messages.
local function parking_tasks(q)
  local tasks = redis.call('ZRANGE', q .. OPEN, 0, -1)
  for _, task in ipairs(redis.call('ZRANGE', q .. SHUT, 0, -1)) do
    tasks[#tasks + 1] = task
  end
  return tasks
end
