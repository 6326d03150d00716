-- is_suspect(q, t, id): whether it must be the only message of its claim.
local function is_suspect(q, t, id)
  return t.has_strikes and tonumber(redis.call('HGET', q .. STRIKES, id) or 0) >= 2
end

-- give(q, t, id, payload, task): adds a message to those that are taken; `task` where it has a limit.
local function give(q, t, id, payload, task)
  t.out[#t.out + 1], t.out[#t.out + 2] = id, payload
  t.bytes, t.count = t.bytes + #payload, t.count + 1
  if task then
    t.limited[#t.limited + 1] = id
    use_permit(q, task)
  end
  t.stop = t.stop or t.bytes >= t.max_bytes or is_suspect(q, t, id)
end

-- take_parked(q, t, task): takes the first parked message of a task, where its limit lets one start.
local function take_parked(q, t, task)
  t.visits = t.visits + 1
  local first = reopens_at(q, task) and {} or redis.call('ZRANGE', q .. PARKED_BY .. task, 0, 0, 'WITHSCORES')
  local id = first[1]
  if id and is_suspect(q, t, id) and (t.has_others or #t.out > 0) then
    t.stop = true
    return
  elseif id then
    local payload = redis.call('HGET', q .. PAYLOAD, id)
    redis.call('ZREM', q .. PARKED_BY .. task, id)
    count_parked(q, -1)
    if payload then -- else the queue expired, but not this set
      local step, score = step_and_score(tonumber(first[2]))
      give(q, t, id, payload, task)
      hand_out(q, {id}, {score}, step, t.lease_end, t.token)
    end
  end
  represent(q, task, reopens_at(q, task))
end
