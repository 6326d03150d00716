-- leases_of(q, begin): for each timer that the call has from ARGV[begin] on, in their order: when its lease ends, or false.
-- One question for all: a call for each timer would cost four times as much as three for all of a key.
local function leases_of(q, begin)
  if redis.call('EXISTS', q .. LEASED) == 0 then
    return {}
  end
  local ids = {}
  while begin < #ARGV do
    local last = begin + tonumber(ARGV[begin + 1]) * 2
    for i = begin + 2, last, 2 do
      ids[#ids + 1] = ARGV[i]
    end
    begin = last + 2
  end
  return redis.call('ZMSCORE', q .. LEASED, unpack(ids))
end

-- ensure_timers(q, key, from, last, leased, out): ensures the timers of a flow key from ARGV[from] to ARGV[last], and adds
-- to `out` what became of each. Returns the earliest time that it set (ms; nil: none), and how many more wait than before.
local function ensure_timers(q, key, from, last, leased, out)
  local step, base = tonumber(ARGV[2]), base_of(q, key)
  local target, ids, places, fresh, first, gone = set_for(q, base, step), {}, {}, {}, nil, 0
  for i = from, last, 2 do
    ids[#ids + 1] = ARGV[i]
  end
  for _, set in ipairs((sets_of(q, base))) do
    places[#places + 1] = {set = set, scores = redis.call('ZMSCORE', set, unpack(ids))}
  end
  for n, id in ipairs(ids) do
    local due, was, elsewhere = tonumber(ARGV[from + n * 2 - 1]), nil, nil
    local score = due * 16 + step
    for _, place in ipairs(places) do
      if place.scores[n] then
        was, elsewhere = tonumber(place.scores[n]), place.set ~= target and place.set or nil
      end
    end
    local answer = 'left'
    -- A timer of another step keeps it, unless its time is too late.
    if not leased[#out + 1] and (not was or was > (elsewhere and due * 16 + 15 or score)) then
      fresh[#fresh + 1] = string.format('%d', score)
      fresh[#fresh + 1] = id
      first = math.min(first or due, due)
      gone = gone + (elsewhere and redis.call('ZREM', elsewhere, id) or 0)
      answer = was and 'pulled' or 'added'
    end
    out[#out + 1] = answer
  end
  -- LT: where an id is given twice, the earlier time counts.
  local added = first and redis.call('ZADD', target, 'LT', unpack(fresh)) or 0
  return first, added - gone
end
