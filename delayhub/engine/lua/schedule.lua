-- Stores messages: ready where their time has come, else waiting.
-- KEYS: queue, lane
-- ARGV: mode, then for each entry: id, due ms, step, payload
-- Returns: for each entry: 0 (its id exists), 1 (added), 2 (replaced), or the id under which a copy was stored
-- Complexity: O(log n) an entry
-- Uses: now, ring, ready, lift, place
local q, lane, mode = KEYS[1], KEYS[2], ARGV[1]
local out = {}

-- Stores one more entry of a taken id under the first free name, which it returns. Celery publishes one id twice and
-- means both.
local function copy_of(id, payload)
  redis.call('HINCRBY', q .. COPIES, 'live:' .. id, 1)
  while true do
    local name = id .. '#' .. redis.call('HINCRBY', q .. COPIES, 'n:' .. id, 1)
    if redis.call('HSETNX', q .. PAYLOAD, name, payload) == 1 then
      return name
    end
  end
end

for i = 2, #ARGV, 4 do
  local id, due, step, payload = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]
  local outcome = 1
  -- An id has a payload exactly while it is in one of the sets, so this command both asks and stores.
  if redis.call('HSETNX', q .. PAYLOAD, id, payload) == 0 then
    if mode == 'new' then
      id = copy_of(id, payload)
      outcome = id
    elseif mode == 'replace' then
      lift(q, id, true)
      redis.call('HSET', q .. PAYLOAD, id, payload)
      redis.call('HDEL', q .. STRIKES, id)
      outcome = 2
    else
      outcome = 0
    end
  end
  if outcome ~= 0 then
    place(q, lane, id, due, step)
  end
  out[#out + 1] = outcome
end
return out
