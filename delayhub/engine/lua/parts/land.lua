-- land(q): looks at two of the messages that count among those that run at once, and lets go of those that no consumer has:
-- a worker of another release may have ended their leases.
local function land(q)
  local ids = redis.call('HRANDFIELD', q .. FLYING, 2)
  if #ids == 0 then
    return
  end
  local gone = {}
  for i, score in ipairs(redis.call('ZMSCORE', q .. LEASED, unpack(ids))) do
    if not score then
      gone[#gone + 1] = ids[i]
    end
  end
  leave_flight(q, gone)
end
