-- Removes some of the messages that no consumer holds, but no dead ones: for queues too large to purge in one call.
-- KEYS: queue
-- ARGV: how many
-- Returns: how many were removed
-- Complexity: O(log n) a message
-- Uses: forget
local q, left, removed = KEYS[1], tonumber(ARGV[1]), 0
local keys = {q .. WAITING}
for step = 0, MAX_STEPS - 1 do
  keys[#keys + 1] = q .. READY .. step
end
for _, key in ipairs(keys) do
  local popped, ids = redis.call('ZPOPMIN', key, left), {}
  for i = 1, #popped, 2 do
    ids[#ids + 1] = popped[i]
  end
  if #ids > 0 then
    forget(q, ids)
    left, removed = left - #ids, removed + #ids
  end
  if left == 0 then
    break
  end
end
return removed
