-- Makes sure that timers fire no later than asked: adds absent ones, pulls later ones earlier, leaves leased ones.
-- KEYS: queue, lane
-- ARGV: queue name, step, how many flow keys, then for each: the key ('' for none), how many timers, for each: id, due ms
-- Returns: for each timer: added, pulled or left
-- Complexity: O(log n) a timer and set of the queue
-- Uses: now, ring, note_agenda, waiting, line, ensure_timers
local q, lane, name, groups, begin = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[3]), 4
local out, turns, earliest, keyed, leased = {}, {}, nil, 0, leases_of(q, begin)
while begin < #ARGV do
  local key, last = ARGV[begin], begin + tonumber(ARGV[begin + 1]) * 2
  local first, more = ensure_timers(q, key, begin + 2, last, leased, out)
  groups = groups - 1
  if first then
    earliest = math.min(earliest or first, first)
    if key ~= '' then
      keyed = keyed + more
      -- A µs apart, since equal scores would sort by the key's name.
      turns[#turns + 1] = string.format('%.3f', math.max(first, (now_us - groups) / 1000))
      turns[#turns + 1] = key
    end
  end
  begin = last + 2
end
if earliest then
  note_agenda(lane, name, earliest)
  note_keyed(q, keyed)
  if #turns > 0 then
    -- LT: as note_turn() does for one key, which keeps its turn in the line.
    redis.call('ZADD', q .. TURNS, 'LT', unpack(turns))
  end
end
return out
