-- names(q, id, first, last): which of the id (number 0) and its copies (from number 1 on) exist, in that range.
local function names(q, id, first, last)
  local found = {}
  if first == 0 and redis.call('HEXISTS', q .. PAYLOAD, id) == 1 then
    found[1] = id
  end
  local copies = math.min(tonumber(redis.call('HGET', q .. COPIES, 'n:' .. id) or 0), last)
  for n = math.max(first, 1), copies do
    local name = id .. '#' .. n
    if redis.call('HEXISTS', q .. PAYLOAD, name) == 1 then
      found[#found + 1] = name
    end
  end
  return found
end
