-- owned(q, first, count): of `count` (id, token) pairs in ARGV from `first` on, the ids and the holder values of those
-- whose token still holds the lease. A lease that was lost is passed over: that is the fence.
local function owned(q, first, count)
  local asked, ids, holders = {}, {}, {}
  for i = 0, count - 1 do
    asked[i + 1] = ARGV[first + 2 * i]
  end
  if count == 0 then
    return ids, holders
  end
  local values = redis.call('HMGET', q .. HOLDER, unpack(asked))
  for i, value in ipairs(values) do
    local token = ARGV[first + 2 * i - 1] .. ':'
    if value and string.sub(value, 1, #token) == token then
      ids[#ids + 1] = asked[i]
      holders[#holders + 1] = value
    end
  end
  return ids, holders
end
