-- Stores messages: ready where their time has come, else waiting.
-- KEYS: queue, lane
-- ARGV: mode, then for each entry: id, due ms, step, payload, publish token ('' for none)
-- Returns: for each entry: 0 (its id exists), 1 (added), 2 (replaced), 3 (this publish had stored it already), or the id
--   under which a copy was stored
-- Complexity: O(log n) an entry; where its id is taken and it has a token, O(copies) as well (100 at most)
-- Uses: now, ring, ready, task_of, places, parked, lift, place, copies
local q, lane, mode = KEYS[1], KEYS[2], ARGV[1]
local out, has_copies = {}, redis.call('EXISTS', q .. COPIES) == 1

for i = 2, #ARGV, 5 do
  local id, due, step, payload = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]
  local outcome, token = 1, mode == 'new' and ARGV[i + 4] or ''
  if has_copies and token ~= '' and stored_already(q, id, token) then
    outcome = 3 -- as a copy, maybe, although the id is free by now
  -- An id has a payload exactly while it is in one of the sets, so this command both asks and stores.
  elseif redis.call('HSETNX', q .. PAYLOAD, id, payload) == 0 then
    if not has_copies and token ~= '' and stored_already(q, id, token) then
      outcome = 3
    elseif mode == 'new' then
      id = copy_of(q, id, payload)
      outcome = id
    elseif mode == 'replace' then
      lift(q, id, true)
      redis.call('HSET', q .. PAYLOAD, id, payload)
      redis.call('HDEL', q .. STRIKES, id)
      redis.call('HDEL', q .. LOST, id)
      outcome = 2
    else
      outcome = 0
    end
  end
  if outcome ~= 0 and outcome ~= 3 then
    place(q, lane, id, due, step)
  end
  out[#out + 1] = outcome
end
return out
