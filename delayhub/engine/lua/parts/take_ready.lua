-- park(q, by_task): parks messages: for each task {place, id, …}. Returns what that cost beside one for each message.
local function park(q, by_task)
  local cost = 0
  for task, places in pairs(by_task) do
    redis.call('ZADD', q .. PARKED_BY .. task, unpack(places))
    count_parked(q, #places / 2)
    represent(q, task, reopens_at(q, task))
    cost = cost + 2
  end
  return cost
end

-- take_ready(q, t, step, heads, until_place): takes those of the ready messages {id, score, …} of a step that come before a
-- place in line, and parks those whose limits hold them back.
local function take_ready(q, t, step, heads, until_place)
  local ids, gone, taken, scores, by_task = {}, {}, {}, {}, {}
  for i = 1, #heads, 2 do
    if place_of(step, tonumber(heads[i + 1])) < until_place then
      ids[#ids + 1] = heads[i]
    end
  end
  for i, payload in ipairs(redis.call('HMGET', q .. PAYLOAD, unpack(ids))) do
    local id, score, task = ids[i], heads[2 * i], payload and task_of(payload)
    task = task and limit_of(q, task) and task or nil
    local waits = task and (by_task[task] or redis.call('EXISTS', q .. PARKED_BY .. task) == 1)
    if task and (waits or #t.limited >= t.free or reopens_at(q, task)) then
      local places = by_task[task] or {}
      by_task[task] = places
      places[#places + 1], places[#places + 2] = string.format('%.0f', place_of(step, tonumber(score))), id
      gone[#gone + 1] = id
      if waits and #t.limited < t.free and not reopens_at(q, task) then
        break -- it may be before the others of its task, and be next
      end
    elseif is_suspect(q, t, id) and (t.has_others or #t.out > 0) then
      t.stop = true
      break
    else
      gone[#gone + 1], taken[#taken + 1], scores[#scores + 1] = id, id, score
      give(q, t, id, payload or '', task)
      if t.stop then
        break
      end
    end
  end
  if #gone > 0 then
    redis.call('ZREM', q .. READY .. step, unpack(gone))
  end
  if #taken > 0 then
    hand_out(q, taken, scores, step, t.lease_end, t.token)
  end
  t.parked = t.parked + #gone - #taken + park(q, by_task)
end
