-- Makes sure that timers fire no later than asked: adds absent ones, pulls later ones earlier, leaves leased ones.
-- KEYS: queue, lane
-- ARGV: queue name, then for each timer: id, due ms, step
-- Returns: for each timer: added, pulled or left
-- Complexity: O(log n) a timer
-- Uses: ring, note_agenda
local q, lane = KEYS[1], KEYS[2]
local out, ids, fresh, earliest = {}, {}, {}, nil
for i = 2, #ARGV, 3 do
  ids[#ids + 1] = ARGV[i]
end
-- A call for each timer would cost four times as much as three for all of them.
local waiting, leased = redis.call('ZMSCORE', q .. WAITING, unpack(ids)), {}
if redis.call('EXISTS', q .. LEASED) == 1 then
  leased = redis.call('ZMSCORE', q .. LEASED, unpack(ids))
end
for n, id in ipairs(ids) do
  local due, was = tonumber(ARGV[n * 3]), waiting[n]
  local score = due * 16 + ARGV[n * 3 + 1]
  out[n] = 'left'
  if not leased[n] and (not was or tonumber(was) > score) then
    fresh[#fresh + 1] = string.format('%d', score)
    fresh[#fresh + 1] = id
    earliest = math.min(earliest or due, due)
    out[n] = was and 'pulled' or 'added'
  end
end
if earliest then
  -- LT: where an id is given twice, the earlier time counts.
  redis.call('ZADD', q .. WAITING, 'LT', unpack(fresh))
  note_agenda(lane, ARGV[1], earliest)
end
return out
