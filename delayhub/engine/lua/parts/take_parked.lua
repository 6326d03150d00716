-- How long a flow key waits, in ms, one of whose messages waits for its task; it is looked at when that one starts.
local KEY_WAITS = 10000

-- is_elsewhere(q, id, step): whether a message is not parked any more: its queue expired or was deleted without this set, whose
-- name the list of the queue's sets lacked, and the message was published again.
local function is_elsewhere(q, id, step)
  return redis.call('ZSCORE', q .. WAITING, id) or redis.call('ZSCORE', q .. LEASED, id)
    or redis.call('ZSCORE', q .. READY .. step, id)
end

-- take_parked(q, t, name): takes the first parked message of a task or flow key, where its limit lets one start. A message that
-- has both is parked by the other one where that one's limit holds it back: no permit is used before all may be.
local function take_parked(q, t, name)
  t.visits = t.visits + 1
  local first = reopens_at(q, name) and {} or redis.call('ZRANGE', q .. PARKED_BY .. name, 0, 0, 'WITHSCORES')
  local id, turn, waits = first[1], nil, nil
  if id and is_suspect(q, t, id) and (t.has_others or #t.out > 0) then
    t.stop = true
    return
  elseif id then
    local step, score = step_and_score(tonumber(first[2]))
    local payload = not is_elsewhere(q, id, step) and redis.call('HGET', q .. PAYLOAD, id)
    local task, key = task_of_key(name), name
    if not task then
      task, key = name, select(2, task_of(payload or ''))
    end
    local other = key == name and task or key
    local limit = payload and other and limit_of(q, other)
    redis.call('ZREM', q .. PARKED_BY .. name, id)
    if limit and (is_shut(limit) or other == task and has_parked(q, other)) then
      redis.call('ZADD', q .. PARKED_BY .. other, first[2], id)
      represent(q, other, reopens_at(q, other))
      waits = other == task and now + KEY_WAITS or nil
    else
      count_parked(q, -1)
      if payload then -- else it is elsewhere, or nowhere
        give(q, t, id, payload, task, key)
        hand_out(q, {id}, {score}, step, t.lease_end, t.token)
        turn = next_turn()
        if key and key ~= name then
          represent(q, key, reopens_at(q, key), turn)
        end
      else
        redis.call('HINCRBY', q .. HEALED, 'parked', 1)
      end
    end
  end
  represent(q, name, waits or reopens_at(q, name), turn)
end
