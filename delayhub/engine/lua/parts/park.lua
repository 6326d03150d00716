-- park_at(places, place, id): adds a message to those that are parked of its task or flow key: {place, id, …}.
local function park_at(places, place, id)
  local count = #places
  places[count + 1], places[count + 2] = string.format('%d', place), id
end

-- park(q, t, by_task): parks messages: for each name {place, id, …} in their order. All names come into SHUT, where they stay
-- until the time they have there, or into OPEN, by one call each.
local function park(q, t, by_task)
  local open, shut, in_open, in_turns, count, known = {}, {}, {}, {}, 0, limits_of(q)
  for task, places in pairs(by_task) do
    redis.call('ZADD', q .. PARKED_BY .. task, unpack(places))
    count = count + #places / 2
    if known[task] and is_shut(known[task]) then
      shut[#shut + 1], shut[#shut + 2] = reopens_at(q, task), task
    else
      open[#open + 1] = task
    end
  end
  for i, reopens in ipairs(#open > 0 and redis.call('ZMSCORE', q .. SHUT, unpack(open)) or {}) do
    if not reopens then
      in_open[#in_open + 1], in_open[#in_open + 2] = by_task[open[i]][1], open[i]
      if task_of_key(open[i]) then
        in_turns[#in_turns + 1], in_turns[#in_turns + 2] = by_task[open[i]][1], open[i]
      end
    end
  end
  if #shut > 0 then
    redis.call('ZADD', q .. SHUT, 'NX', unpack(shut))
  end
  if #in_open > 0 then
    redis.call('ZADD', q .. OPEN, 'LT', unpack(in_open))
  end
  if #in_turns > 0 then
    redis.call('ZADD', q .. TURNS, 'LT', unpack(in_turns))
  end
  count_parked(q, count)
  t.parked = t.parked + count + #open + #shut / 2
end
