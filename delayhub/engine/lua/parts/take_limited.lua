local PARK_MOST = 150
-- take_limited(q, t): as take, in a queue where tasks have limits. Of tasks with a limit it takes up to t.free, also beyond
-- t.want; of all others, up to t.want together with those. What it comes by and a limit holds back is parked: about 150
-- messages (90 of as many tasks: 1 to 2 ms), so the claim may end before t.want. `t` has, as take's arguments, want,
-- max_bytes, lease_end, token, out and has_others; and free. Returns count, bytes, whether the claim must stop here, how many are of tasks
-- with a limit, and {their ids, the ids of those that count among those that run at once}.
local function take_limited(q, t)
  t.count, t.bytes, t.stop, t.limited, t.parked, t.visits = 0, 0, false, {}, 0, 0
  t.counted = {}
  t.batch = 20
  land(q)
  t.has_strikes = redis.call('EXISTS', q .. STRIKES) == 1
  for _, task in ipairs(redis.call('ZRANGEBYSCORE', q .. SHUT, '-inf', now, 'LIMIT', 0, 200)) do
    represent(q, task, reopens_at(q, task), next_turn())
  end
  for step = 0, MAX_STEPS - 1 do
    while not t.stop do
      local first, heads = {}, {}
      if #t.limited < t.free and t.visits < 200 then
        first = redis.call('ZRANGE', q .. OPEN, 0, 0, 'WITHSCORES')
      end
      if t.count < t.want and t.parked < PARK_MOST then
        heads = redis.call('ZRANGE', q .. READY .. step, 0, math.min(t.batch, PARK_MOST - t.parked) - 1, 'WITHSCORES')
      end
      local place = first[1] and tonumber(first[2]) or math.huge
      if place < (step + 1) * PARK_STEP and not (heads[1] and place_of(step, tonumber(heads[2])) < place) then
        take_parked(q, t, whose_turn(q, first[1]))
      elseif heads[1] then
        take_ready(q, t, step, heads, place)
      else
        break
      end
    end
  end
  return t.count, t.bytes, t.stop, #t.limited, {t.limited, t.counted}
end

-- with_limits(q, left, wake_at, limits, reopens): what was known of a queue, and of those before it, with its limits: whether
-- something is left to start, when it next needs a claim, whether there are limits (1; 2: some message could start), and
-- when the next one reopens.
local function with_limits(q, left, wake_at, limits, reopens)
  local at = tonumber(redis.call('ZRANGE', q .. SHUT, 0, 0, 'WITHSCORES')[2] or math.huge)
  local is_open = at <= now or redis.call('EXISTS', q .. OPEN) == 1
  if at > now and at < math.huge then
    wake_at, reopens = math.min(wake_at or at, at), math.min(reopens or at, at)
  end
  return left or is_open, wake_at, math.max(limits, is_open and 2 or 1), reopens
end
