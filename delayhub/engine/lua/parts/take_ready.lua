-- take_ready(q, t, step, heads, until_place): takes those of the ready messages {id, score, …} of a step that come before a
-- place in line, and parks those whose limits hold them back.
local function take_ready(q, t, step, heads, until_place)
  local ids, gone, taken, scores, by_name, read, known = {}, 0, {}, {}, {}, 0, limits_of(q)
  for i = 1, #heads, 2 do
    if until_place < math.huge and place_of(step, tonumber(heads[i + 1])) >= until_place then
      break
    end
    ids[(i + 1) / 2] = heads[i]
  end
  local payloads = redis.call('HMGET', q .. PAYLOAD, unpack(ids))
  local tasks, keys = tasks_of(q, payloads)
  for i, task in ipairs(tasks) do
    local id, score, payload, key = ids[i], heads[2 * i], payloads[i] or '', keys[i]
    if t.count >= t.want then
      break
    end
    local limit, name, waits = known[task], nil, false
    if key then
      limit = limit or known[key]
      name, waits = held_by(q, t, task, key, by_name)
    elseif limit then
      local is_held = #t.limited >= t.free or is_shut(limit)
      waits = not is_held and (by_name[task] or has_parked(q, task))
      name = (is_held or waits) and task
    end
    read = read + #payload
    if name then
      by_name[name], gone = by_name[name] or {}, gone + 1
      park_at(by_name[name], place_of(step, tonumber(score)), id)
      if waits and name == task then
        break -- it may be before the others of its task, and be next
      end
    elseif is_suspect(q, t, id) and (t.has_others or #t.out > 0) then
      t.stop = true
      break
    else
      gone, taken[#taken + 1], scores[#scores + 1] = gone + 1, id, score
      give(q, t, id, payload, limit and task, key)
      if t.stop then
        break
      end
    end
  end
  if gone > 0 then
    redis.call('ZREMRANGEBYRANK', q .. READY .. step, 0, gone - 1) -- they are the first ones
  end
  if #taken > 0 then
    hand_out(q, taken, scores, step, t.lease_end, t.token)
  end
  -- More at a time where few are taken of those that are read, unless they are large.
  t.batch = gone > 2 * #taken and read < 100000 and math.min(2 * t.batch, 100) or 20
  park(q, t, by_name)
end
