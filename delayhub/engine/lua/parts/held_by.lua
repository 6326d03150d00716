-- held_by(q, t, task, key, by_name): the name by which a message with a flow key is parked: that of the key where the key's limit
-- holds it back, or others of the key wait; else that of its task, likewise; nil where it may start. Also whether it only waits.
local function held_by(q, t, task, key, by_name)
  local known, name = limits_of(q), key or task
  while name do
    local limit = known[name]
    if limit and (#t.limited >= t.free or is_shut(limit)) then
      return name, false
    elseif (limit or name ~= task) and (by_name[name] or has_parked(q, name)) then
      return name, true
    end
    name = name ~= task and task or nil
  end
end
