-- Notes that tasks with a unique key, or that count among those that may run at once, which are acknowledged when they start, run
-- now: their messages stay leased, so that key and place stay taken, but are never given out again.
-- KEYS: queue
-- ARGV: for each lease: id, token
-- Returns: how many leases still held, of such messages
-- Complexity: O(1) a lease
-- Uses: owned
local q, started = KEYS[1], 0
local ids, holders = owned(q, 1, #ARGV / 2)
for i, id in ipairs(ids) do
  local has_started, token = false, string.match(holders[i], '^%d+')
  if string.sub(redis.call('HGET', q .. UNIQUE, 'id:' .. id) or '', 1, 1) == 'e' then
    redis.call('HSET', q .. UNIQUE, 'run:' .. id, token)
    has_started = true
  end
  local flying = redis.call('HGET', q .. FLYING, id)
  if flying then
    redis.call('HSET', q .. FLYING, id, (string.gsub(flying, '\r.*$', '')) .. '\r' .. token)
    has_started = true
  end
  started = started + (has_started and 1 or 0)
end
return started
