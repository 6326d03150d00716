-- Removes these messages, without their copies, where no consumer holds them.
-- KEYS: queue
-- ARGV: ids
-- Returns: how many were removed
-- Complexity: O(log n) an id
-- Uses: leave_flight, pass_key, forget, task_of, places, parked, lift
local q, removed = KEYS[1], {}
for _, id in ipairs(ARGV) do
  local from = lift(q, id, false)
  if from and from ~= 'leased' then
    removed[#removed + 1] = id
  end
end
if #removed > 0 then
  forget(q, removed)
end
return #removed
