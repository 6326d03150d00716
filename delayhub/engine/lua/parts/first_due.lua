-- first_due(q): when the first timer of the queue is due (ms), or nil. Sets that are empty are no longer in use.
local function first_due(q)
  local sets, steps = sets_of(q)
  local first, bits = nil, steps_in_use(q)
  for i, set in ipairs(sets) do
    local score = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
    if score then
      local due = math.floor(tonumber(score) / 16)
      first = math.min(first or due, due)
    else
      bits = bit.band(bits, bit.bnot(bit.lshift(1, steps[i])))
    end
  end
  if bits ~= steps_in_use(q) then
    steps_of[q] = bits
    if bits == 0 then
      redis.call('HDEL', q .. GATE, 'steps')
    else
      redis.call('HSET', q .. GATE, 'steps', bits)
    end
  end
  return first
end
