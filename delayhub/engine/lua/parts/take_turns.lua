-- take_turns(q, want, most, bonus): takes up to `want` due timers of a queue with flow keys, as {id, score, …} and their keys,
-- by turns: each key in the line gets an equal share, up to `most`, and those that have more go to the end of the line. Timers without a
-- key are in the line together, as the key ''. Also returns the limits of the keys, and
-- how many keys gave any.
local function take_turns(q, want, most, bonus)
  local own = first_due(q, q)
  if own and own <= now then
    note_turn(q, '', now)
  end
  local due, keys, next_turns, ended, taken, turns = {}, {}, {}, {}, 0, 0
  local line = redis.call('ZRANGEBYSCORE', q .. TURNS, '-inf', string.format('%.3f', now_us / 1000), 'LIMIT', 0,
    math.min(want, 500))
  local limits = key_limits(q, line)
  for place, key in ipairs(line) do
    local share = math.min(math.ceil(want / (#line - place + 1)), most)
    local found, count, head, reopens = key_turn(q, key, place, share, bonus, limits)
    for i = 1, count * 2, 2 do
      due[#due + 1], due[#due + 2] = found[i], found[i + 1]
      keys[#due - 1] = key ~= '' and key or nil
    end
    want = want - count
    turns = turns + (count > 0 and 1 or 0)
    taken = taken + (key ~= '' and count or 0)
    if head then
      -- Those that had a turn stay in their order: a µs apart, since equal scores would sort by the key's name.
      local turn = (now_us - #line + place) / 1000
      next_turns[#next_turns + 1] = string.format('%.3f', math.max(head, reopens or turn))
      next_turns[#next_turns + 1] = key
    else
      ended[#ended + 1] = key
    end
  end
  drop_emptied()
  if #next_turns > 0 then
    redis.call('ZADD', q .. TURNS, unpack(next_turns))
  end
  if #ended > 0 then
    redis.call('ZREM', q .. TURNS, unpack(ended))
  end
  note_keyed(q, -taken)
  return due, keys, limits, turns
end
