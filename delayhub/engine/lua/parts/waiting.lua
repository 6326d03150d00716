-- Where timers wait: a sorted set for each priority step in use, so that a claim finds the most urgent ones without reading
-- the others. Timers of the middle step are in WAITING, and most queues have no others, which costs them nothing: the sets of
-- other steps are those whose bits are set in the gate's field `steps`.
local steps_of = {}
local function steps_in_use(q)
  steps_of[q] = steps_of[q] or tonumber(redis.call('HGET', q .. GATE, 'steps') or 0)
  return steps_of[q]
end

-- base_of(q, key): what the keys of its sets begin with; timers without a flow key are in the queue's own sets.
local function base_of(q, key)
  return key == '' and q or q .. KEY .. key
end

-- sets_of(q, base): the keys of the sets in use, the most urgent first, and their steps.
local function sets_of(q, base)
  local bits, sets, steps = steps_in_use(q), {}, {}
  for step = 0, bits > 0 and MAX_STEPS - 1 or -1 do
    if step == MIDDLE_STEP then
      sets[#sets + 1], steps[#steps + 1] = base .. WAITING, step
    elseif bit.band(bits, bit.lshift(1, step)) ~= 0 then
      sets[#sets + 1], steps[#steps + 1] = base .. STEP_WAITING .. step, step
    end
  end
  if bits == 0 then
    return {base .. WAITING}, {MIDDLE_STEP}
  end
  return sets, steps
end

-- set_for(q, base, step): the key of the step's set, which is in use from now on.
local function set_for(q, base, step)
  if step == MIDDLE_STEP then
    return base .. WAITING
  end
  local bits = bit.bor(steps_in_use(q), bit.lshift(1, step))
  if bits ~= steps_of[q] then
    steps_of[q] = bits
    redis.call('HSET', q .. GATE, 'steps', bits)
  end
  return base .. STEP_WAITING .. step
end
