-- acknowledge(q, first, count): ends the leases that still hold, and their entries with them. Returns how many.
local function acknowledge(q, first, count)
  local ids = owned(q, first, count)
  if #ids > 0 then
    redis.call('ZREM', q .. LEASED, unpack(ids))
    redis.call('HDEL', q .. HOLDER, unpack(ids))
    forget(q, ids)
  end
  return #ids
end
