-- Removes some of the messages that no consumer holds, but no dead ones: for queues too large to purge in one call.
-- KEYS: queue
-- ARGV: how many
-- Returns: how many were removed
-- Complexity: O(log n) a message
-- Uses: leave_flight, pass_key, forget, task_of, places, parked
local q, left, removed = KEYS[1], tonumber(ARGV[1]), 0
local function remove_first(key)
  local popped, ids = redis.call('ZPOPMIN', key, left), {}
  for i = 1, #popped, 2 do
    ids[#ids + 1] = popped[i]
  end
  if #ids > 0 then
    forget(q, ids)
    left, removed = left - #ids, removed + #ids
  end
  return #ids
end

local keys = {q .. WAITING}
for step = 0, MAX_STEPS - 1 do
  keys[#keys + 1] = q .. READY .. step
end
for _, key in ipairs(keys) do
  remove_first(key)
  if left == 0 then
    break
  end
end
while left > 0 do
  local task = redis.call('ZRANGE', q .. OPEN, 0, 0)[1] or redis.call('ZRANGE', q .. SHUT, 0, 0)[1]
  if not task then
    break
  end
  count_parked(q, -remove_first(q .. PARKED_BY .. task))
  represent(q, task, redis.call('ZSCORE', q .. SHUT, task))
end
return removed
