-- place(q, lane, id, due, step): puts an id where its due time says: ready, or waiting. Rings for what is ready, and for
-- a new head of waiting, since a consumer that sleeps until the old head would be late.
local function place(q, lane, id, due, step)
  if due <= now then
    put_ready(q, step, id)
    ring(lane)
    return
  end
  redis.call('ZADD', q .. WAITING, string.format('%d', due * 16 + step), id)
  if redis.call('ZRANGE', q .. WAITING, 0, 0)[1] == id then
    ring(lane)
  end
end
