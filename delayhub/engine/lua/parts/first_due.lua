-- first_due(q, base, tidy): when the first timer of these sets is due (ms), or nil. `tidy`: those that are empty are no
-- longer in use, since no flow key has any.
local function first_due(q, base, tidy)
  local sets, steps = sets_of(q, base)
  local first, bits = nil, steps_in_use(q)
  for i, set in ipairs(sets) do
    local score = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2]
    if score then
      local due = math.floor(tonumber(score) / 16)
      first = math.min(first or due, due)
    elseif tidy then
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
