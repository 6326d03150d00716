-- free_until_start(q, entries): messages that have their unique key until they start have none from now on.
local function free_until_start(q, entries)
  local ids = {}
  for i = 1, #entries, 2 do
    if string.sub(redis.call('HGET', q .. UNIQUE, 'id:' .. entries[i]) or '', 1, 1) == 's' then
      ids[#ids + 1] = entries[i]
    end
  end
  free_keys(q, ids, true)
end

-- with_extras(q, claimed): what a queue gave, as a claim returns it, with {id, strikes, …} of those that were claimed before,
-- and the revoked ids.
local function with_extras(q, claimed)
  local entries, strikes, revoked = claimed[3], {}, {}
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
  if redis.call('EXISTS', q .. UNIQUE) == 1 then
    free_until_start(q, entries)
  end
  claimed[4], claimed[5] = strikes, revoked
  return claimed
end
