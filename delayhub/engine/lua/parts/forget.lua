-- forget(q, ids): removes what is kept beside the sets of ids that are in none of them any more.
local function forget(q, ids)
  redis.call('HDEL', q .. PAYLOAD, unpack(ids))
  if redis.call('EXISTS', q .. STRIKES) == 1 then
    redis.call('HDEL', q .. STRIKES, unpack(ids))
    redis.call('HDEL', q .. LOST, unpack(ids)) -- a lost lease is a strike
  end
  if redis.call('EXISTS', q .. COPIES) == 1 then
    for _, id in ipairs(ids) do
      local base = string.match(id, '^(.*)#%d+$')
      if base and redis.call('HEXISTS', q .. COPIES, 'live:' .. base) == 1 then
        if redis.call('HINCRBY', q .. COPIES, 'live:' .. base, -1) <= 0 then
          redis.call('HDEL', q .. COPIES, 'live:' .. base, 'n:' .. base)
        end
      end
    end
  end
end
