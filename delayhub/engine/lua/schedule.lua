-- Stores messages: ready where their time has come, else waiting.
-- KEYS: queue, lane
-- ARGV: mode, then for each entry: id, due ms, step, payload, publish token ('' for none)
-- Returns: for each entry: 0 (its id exists), 1 (added), 2 (replaced), 3 (this publish had stored it already), or the id
--   under which a copy was stored
-- Complexity: O(log n) an entry; where its id is taken and it has a token, O(copies) as well (100 at most)
-- Uses: now
-- Seldom: copies, leave_flight, task_of, places, parked, lift
local q, lane, mode = KEYS[1], KEYS[2], ARGV[1]
-- One call asks for two keys, since a key that is named twice counts twice.
local found = redis.call('EXISTS', q .. COPIES, q .. COPIES, lane .. WAKE)
local has_copies, has_rung = found >= 2, found % 2 == 1
-- This does what place(), put_ready() and ring() do, without functions: most publishes are of one message, and Redis makes
-- the functions of a script at each call.
local out, last_scores, placed, rings = {}, {}, nil, false

for i = 2, #ARGV, 5 do
  local id, due, step, payload = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3]
  local outcome, token = 1, mode == 'new' and ARGV[i + 4] or ''
  if has_copies and token ~= '' and seldom().stored_already(q, id, token) then
    outcome = 3 -- as a copy, maybe, although the id is free by now
  -- An id has a payload exactly while it is in one of the sets, so this command both asks and stores.
  elseif redis.call('HSETNX', q .. PAYLOAD, id, payload) == 0 then
    if not has_copies and token ~= '' and seldom().stored_already(q, id, token) then
      outcome = 3
    elseif mode == 'new' then
      id = seldom().copy_of(q, id, payload)
      outcome = id
    elseif mode == 'replace' then
      seldom().lift(q, id, true)
      redis.call('HSET', q .. PAYLOAD, id, payload)
      redis.call('HDEL', q .. STRIKES, id)
      redis.call('HDEL', q .. LOST, id)
      outcome = 2
    else
      outcome = 0
    end
  end
  if outcome ~= 0 and outcome ~= 3 and due <= now then
    local score = (last_scores[step] or redis.call('ZREVRANGE', q .. READY .. step, 0, 0, 'WITHSCORES')[2] or 0) + 1
    score = score > now_us and score or now_us
    redis.call('ZADD', q .. READY .. step, string.format('%d', score), id)
    last_scores[step], rings = score, true
  elseif outcome ~= 0 and outcome ~= 3 then
    redis.call('ZADD', q .. WAITING, string.format('%d', due * 16 + step), id)
    placed = placed or {}
    placed[id] = true
  end
  out[#out + 1] = outcome
end
-- A new head of waiting rings too, since a consumer that sleeps until the old head would be late.
if not has_rung and (rings or placed and placed[redis.call('ZRANGE', q .. WAITING, 0, 0)[1]]) then
  redis.call('RPUSH', lane .. WAKE, 1)
end
return out
