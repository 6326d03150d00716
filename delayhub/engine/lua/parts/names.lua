-- names(q, id): the id and those of its copies that there are.
local function names(q, id)
  local found = {}
  if redis.call('HEXISTS', q .. PAYLOAD, id) == 1 then
    found[1] = id
  end
  local copies = tonumber(redis.call('HGET', q .. COPIES, 'n:' .. id) or 0)
  for n = 1, copies do
    local name = id .. '#' .. n
    if redis.call('HEXISTS', q .. PAYLOAD, name) == 1 then
      found[#found + 1] = name
    end
  end
  return found
end
