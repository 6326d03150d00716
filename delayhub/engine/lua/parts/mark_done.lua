-- A done message is never given out again: its task has started, and was acknowledged then; or a consumer that had lost its lease
-- has run it. Where another runs it, that one's lease keeps its unique key, and its place among those of a task that run at
-- once, and it is gone with that lease. The mark has the token of the lease, so it is none of a later one.
-- mark_done(q, id, holder): whether a leased message has a key or a place, and is marked as done.
local function mark_done(q, id, holder)
  local token, is_marked = string.match(holder, '^%d+'), false
  if string.sub(redis.call('HGET', q .. UNIQUE, 'id:' .. id) or '', 1, 1) == 'e' then
    redis.call('HSET', q .. UNIQUE, 'run:' .. id, token)
    is_marked = true
  end
  local flying = redis.call('HGET', q .. FLYING, id)
  if flying then
    redis.call('HSET', q .. FLYING, id, (string.gsub(flying, '\r.*$', '')) .. '\r' .. token)
    is_marked = true
  end
  return is_marked
end
