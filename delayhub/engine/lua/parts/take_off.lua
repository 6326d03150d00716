-- take_off(q, id, task, of_task, key, of_key): a message counts among those of its task, and of its flow key, that run at once,
-- where their limits say how many may; one of them does. The name of that one is kept with it; that of the key and a newline
-- where both count.
local function take_off(q, id, task, of_task, key, of_key)
  of_key = of_key and of_key.most and of_key
  of_task = of_task and of_task.most and of_task
  local value = of_key and key .. (of_task and '\n' or '') or task
  redis.call('HSET', q .. FLYING, id, value)
  if of_task then
    of_task.flying = redis.call('HINCRBY', q .. AT_ONCE, task, 1)
  end
  if of_key then
    of_key.flying = redis.call('HINCRBY', q .. AT_ONCE, key, 1)
  end
end
