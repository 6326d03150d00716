-- stored_already(q, id, token): the name of the entry that has a taken id, or of the one of its newest copies, that was stored
-- by the publish with this token; nil where there is none. Its reply was lost then, and the client sent it again.
local function stored_already(q, id, token)
  local drawn = tonumber(redis.call('HGET', q .. COPIES, 'n:' .. id) or 0)
  for n = drawn, math.max(0, drawn - 100), -1 do
    local name = n == 0 and id or id .. '#' .. n
    local stored = redis.call('HGET', q .. PAYLOAD, name)
    if stored and string.find(stored, token, 1, true) then
      return name
    end
  end
  return nil
end

-- copy_of(q, id, payload): stores one more entry of a taken id under the first free name, which it returns. Celery
-- publishes one id twice and means both.
local function copy_of(q, id, payload)
  redis.call('HINCRBY', q .. COPIES, 'live:' .. id, 1)
  while true do
    local name = id .. '#' .. redis.call('HINCRBY', q .. COPIES, 'n:' .. id, 1)
    if redis.call('HSETNX', q .. PAYLOAD, name, payload) == 1 then
      return name
    end
  end
end
