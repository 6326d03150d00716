-- is_suspect(q, t, id): whether it must be the only message of its claim.
local function is_suspect(q, t, id)
  return t.has_strikes and tonumber(redis.call('HGET', q .. STRIKES, id) or 0) >= 2
end

-- give(q, t, id, payload, task, key): adds a message to those that are taken; `task` where it, or the flow key `key`, has a limit.
local function give(q, t, id, payload, task, key)
  t.out[#t.out + 1], t.out[#t.out + 2] = id, payload
  t.bytes, t.count = t.bytes + #payload, t.count + 1
  if task then
    t.limited[#t.limited + 1] = id
    local of_task, of_key = limit_of(q, task), key and limit_of(q, key)
    if of_task and of_task.interval > 0 then
      use_permit(q, task, of_task, false)
    end
    if of_key and of_key.interval > 0 then
      use_permit(q, key, of_key, true)
    end
    if t.lease_end > 0 and (of_task and of_task.most or of_key and of_key.most) then
      take_off(q, id, task, of_task, key, of_key)
      t.counted[#t.counted + 1] = id
    end
  end
  t.stop = t.stop or t.bytes >= t.max_bytes or is_suspect(q, t, id)
end

-- has_parked(q, name): whether messages of the task, or of the flow key, are parked.
local function has_parked(q, name)
  return redis.call('EXISTS', q .. PARKED_BY .. name) == 1
end
