-- extras(q, entries): of claimed {id, payload, …}: {id, strikes, …} of those that were claimed before, and the
-- revoked ids.
local function extras(q, entries)
  local strikes, revoked = {}, {}
  local some_strikes, some_revoked = redis.call('EXISTS', q .. STRIKES) == 1, redis.call('EXISTS', q .. REVOKED) == 1
  if some_strikes or some_revoked then
    for i = 1, #entries, 2 do
      local count = some_strikes and redis.call('HGET', q .. STRIKES, entries[i])
      if count then
        strikes[#strikes + 1], strikes[#strikes + 2] = entries[i], tonumber(count)
      end
      local base = string.match(entries[i], '^(.*)#%d+$') or entries[i]
      local ends = some_revoked and redis.call('ZSCORE', q .. REVOKED, base)
      if ends and tonumber(ends) > now then
        revoked[#revoked + 1] = entries[i]
      end
    end
  end
  return strikes, revoked
end
