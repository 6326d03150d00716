-- put_ready(q, step, id): puts an id last in the line of its priority step. Scores never repeat, so the first in is the
-- first out.
local last_score = {}
local function put_ready(q, step, id)
  local key = q .. READY .. step
  local last = last_score[key]
  if not last then
    local tail = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
    last = tail[2] and tonumber(tail[2]) or 0
  end
  local score = math.max(now_us, last + 1)
  last_score[key] = score
  redis.call('ZADD', key, string.format('%d', score), id)
end
