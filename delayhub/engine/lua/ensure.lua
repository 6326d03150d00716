-- Makes sure that timers fire no later than asked: adds absent ones, pulls later ones earlier, leaves leased ones.
-- KEYS: queue, lane
-- ARGV: queue name, flow key ('' for none), step, then for each timer: id, due ms
-- Returns: for each timer: added, pulled or left
-- Complexity: O(log n) a timer and set of the queue
-- Uses: now, ring, note_agenda, waiting, line
local q, lane, name, key, step = KEYS[1], KEYS[2], ARGV[1], ARGV[2], tonumber(ARGV[3])
local base = base_of(q, key)
local target, out, ids, fresh, earliest, known, gone = set_for(q, base, step), {}, {}, {}, nil, nil, 0
for i = 4, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
end
-- A call for each timer would cost four times as much as three for all of them.
local leased, places = {}, {}
if redis.call('EXISTS', q .. LEASED) == 1 then
  leased = redis.call('ZMSCORE', q .. LEASED, unpack(ids))
end
for _, set in ipairs((sets_of(q, base))) do
  places[#places + 1] = {set = set, scores = redis.call('ZMSCORE', set, unpack(ids))}
end
for n, id in ipairs(ids) do
  local due, was, elsewhere = tonumber(ARGV[n * 2 + 3]), nil, nil
  local score = due * 16 + step
  for _, place in ipairs(places) do
    if place.scores[n] then
      was, elsewhere = tonumber(place.scores[n]), place.set ~= target and place.set or nil
    end
  end
  out[n] = 'left'
  -- A timer of another step keeps it, unless its time is too late.
  if not leased[n] and (not was or was > (elsewhere and due * 16 + 15 or score)) then
    fresh[#fresh + 1] = string.format('%d', score)
    fresh[#fresh + 1] = id
    earliest = math.min(earliest or due, due)
    if elsewhere then
      gone = gone + redis.call('ZREM', elsewhere, id)
    end
    out[n] = was and 'pulled' or 'added'
  elseif was then
    known = math.min(known or was, was)
  end
end
if earliest then
  -- LT: where an id is given twice, the earlier time counts.
  local added = redis.call('ZADD', target, 'LT', unpack(fresh))
  note_agenda(lane, name, earliest)
  if key ~= '' then
    note_keyed(q, added - gone)
    note_turn(q, key, earliest)
  end
end
-- A worker of an earlier release does not know all sets, and may have taken the queue off the agenda.
if known and not redis.call('ZSCORE', lane .. AGENDA, name) then
  note_agenda(lane, name, math.floor(known / 16))
end
return out
