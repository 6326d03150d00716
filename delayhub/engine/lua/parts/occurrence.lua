-- Where a periodic entry stands: JSON in a field of SCHEDULES. Times are in ms; `next` is 0 where nothing follows.
local function load_entry(lane, name)
  local stored = redis.call('HGET', lane .. SCHEDULES, name)
  return stored and cjson.decode(stored) or nil
end

local function save_entry(lane, name, entry)
  redis.call('HSET', lane .. SCHEDULES, name, cjson.encode(entry))
end

-- may_publish(entry, token, at): whether this token still holds the occurrence that is due at that time.
local function may_publish(entry, token, at)
  return entry ~= nil and entry.token == token and entry.next == at
end

-- move_on(entry, last, next): the occurrence is done. `done` tells a call that is sent again from one that came too late.
local function move_on(entry, last, next)
  entry.done, entry.token, entry.holder, entry.till = entry.token, nil, nil, nil
  entry.next = next
  if last > 0 then
    entry.last, entry.count, entry.ran = last, (entry.count or 0) + 1, (entry.ran or 0) + 1
  end
end
