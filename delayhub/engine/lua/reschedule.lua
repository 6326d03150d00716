-- Moves messages that no consumer holds to another time; copies of an id move with it.
-- KEYS: queue, lane
-- ARGV: due ms, first and last of the copies looked at (0: the id itself), then ids
-- Returns: for each id: moved, leased (a consumer holds it, so it was not moved) or absent (or dead, and its unique key is taken)
-- Complexity: O(log n) an id and copy
-- Uses: now, ring, ready, leave_flight, task_of, places, parked, lift, place, pass_key, forget, names, key_holder, unique
local q, lane, due, first, last = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local out = {}
for i = 4, #ARGV do
  local outcome = 'absent'
  for _, id in ipairs(names(q, ARGV[i], first, last)) do
    local score = redis.call('ZSCORE', q .. WAITING, id)
    local step = score and tonumber(score) % 16 or 0
    for ready_step = 1, MAX_STEPS - 1 do
      if not score and redis.call('ZSCORE', q .. READY .. ready_step, id) then
        step = ready_step
      end
    end
    local may_move = not redis.call('ZSCORE', q .. DEAD, id) or take_again(q, id)
    local from, parked_step = nil, nil
    if may_move and wait_until(q, id, due, step) then
      outcome = 'moved'
    elseif may_move then
      from, parked_step = lift(q, id, false)
    end
    if from == 'leased' then
      outcome = outcome == 'moved' and outcome or 'leased'
    elseif from then
      if from == 'dead' then -- it begins anew, as by a redrive
        redis.call('HDEL', q .. STRIKES, id)
        redis.call('HDEL', q .. LOST, id)
      end
      place(q, lane, id, due, parked_step or step)
      outcome = 'moved'
    end
  end
  out[#out + 1] = outcome
end
return out
