-- Due messages whose task, or flow key, has a limit are parked by the name of the one that holds them back, in their order.
-- Such a name is in exactly one of two sets: in OPEN at the place of its first message while the limit lets one start, else in
-- SHUT at the time when it next does. Keys in OPEN are in TURNS too: where the first in line is a key, the next turn counts.
-- represent(q, name, reopens, turn): puts a name into OPEN, or into SHUT until `reopens` (ms), or into neither where none of its
-- messages is parked. `turn`: that of a key from now on; nil for the one that it has.
local function represent(q, name, reopens, turn)
  local first = redis.call('ZRANGE', q .. PARKED_BY .. name, 0, 0, 'WITHSCORES')
  if first[1] and reopens then
    redis.call('ZREM', q .. OPEN, name)
    redis.call('ZADD', q .. SHUT, reopens, name)
  else
    redis.call('ZREM', q .. SHUT, name)
    if first[1] then
      redis.call('ZADD', q .. OPEN, first[2], name)
    else
      redis.call('ZREM', q .. OPEN, name)
    end
  end
  if not task_of_key(name) then
    return
  elseif first[1] and not reopens then
    turn = turn or tonumber(redis.call('ZSCORE', q .. TURNS, name) or 0) % PARK_STEP
    redis.call('ZADD', q .. TURNS, turn_place(first[2], turn), name)
  else
    redis.call('ZREM', q .. TURNS, name)
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
  local task, key = task_of(redis.call('HGET', q .. PAYLOAD, id) or '')
  local name = key and redis.call('ZSCORE', q .. PARKED_BY .. key, id) and key or task
  local place = name and redis.call('ZSCORE', q .. PARKED_BY .. name, id)
  if not place then
    return nil
  end
  redis.call('ZREM', q .. PARKED_BY .. name, id)
  count_parked(q, -1)
  represent(q, name, redis.call('ZSCORE', q .. SHUT, name))
  return (step_and_score(tonumber(place)))
end

-- parking_tasks(q): the names of tasks and flow keys with parked messages.
local function parking_tasks(q)
  local tasks = redis.call('ZRANGE', q .. OPEN, 0, -1)
  for _, task in ipairs(redis.call('ZRANGE', q .. SHUT, 0, -1)) do
    tasks[#tasks + 1] = task
  end
  return tasks
end
