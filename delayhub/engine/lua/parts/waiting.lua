-- Where timers wait: a sorted set for each priority step in use, so that a claim finds the most urgent ones without reading
-- the others. Timers of the middle step are in WAITING, which earlier releases use for all steps, so it may hold any. The
-- other sets are those whose bits are set in the gate's field `steps`.
local steps_of = {}
local function steps_in_use(q)
  steps_of[q] = steps_of[q] or tonumber(redis.call('HGET', q .. GATE, 'steps') or 0)
  return steps_of[q]
end

-- sets_of(q): the keys of the sets in use, the most urgent first, and their steps.
local function sets_of(q)
  local bits, sets, steps = steps_in_use(q), {}, {}
  for step = 0, bits > 0 and MAX_STEPS - 1 or -1 do
    if step == MIDDLE_STEP then
      sets[#sets + 1], steps[#steps + 1] = q .. WAITING, step
    elseif bit.band(bits, bit.lshift(1, step)) ~= 0 then
      sets[#sets + 1], steps[#steps + 1] = q .. STEP_WAITING .. step, step
    end
  end
  if bits == 0 then
    return {q .. WAITING}, {MIDDLE_STEP}
  end
  return sets, steps
end

-- set_for(q, step): the key of the step's set, which is in use from now on.
local function set_for(q, step)
  if step == MIDDLE_STEP then
    return q .. WAITING
  end
  local bits = bit.bor(steps_in_use(q), bit.lshift(1, step))
  if bits ~= steps_of[q] then
    steps_of[q] = bits
    redis.call('HSET', q .. GATE, 'steps', bits)
  end
  return q .. STEP_WAITING .. step
end

-- wait_again(q, id, score): puts a timer back into the set of its step, which is part of its score.
local function wait_again(q, id, score)
  redis.call('ZADD', set_for(q, score % 16), string.format('%d', score), id)
end
