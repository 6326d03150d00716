-- CATCH_UP: claims come late: by a part of a ms, since times are reckoned in ms, and by more on a busy machine. The permits
-- that came while a due timer waited are not lost by that, for so many µs. So a rate is reached with any burst; and no t
-- seconds ever get more than burst + rate * (t + 0.1), nor more than burst + rate * t while claims come in time.
local CATCH_UP = 100000
-- GATHERED: where due timers wait for permits, the next claim comes after so many ms at least, and takes the permits of
-- that time: at 500 a second, a claim for each would cost workers five times as much.
local GATHERED = 10

-- wanted_since(q): when the first of its timers was due, or the first flow key was in the line (ms), or nil.
local function wanted_since(q)
  local turn, head = redis.call('ZRANGE', q .. TURNS, 0, 0, 'WITHSCORES')[2], first_due(q, q)
  return turn and math.min(math.floor(tonumber(turn)), head or now) or head
end

-- permits_from(q, tat, room, shut_until): since when (µs) the queue's permits count, of which one comes each interval. It
-- is not before `tat`, GCRA's theoretical arrival time: that of the permit after the last one used. Of the permits that
-- came before a timer was due and the gate open, only the burst is left: as many as come in `room` µs.
local function permits_from(q, tat, room, shut_until)
  local wanted_ms = math.max(wanted_since(q) or now, tonumber(shut_until or 0))
  return math.max(tonumber(tat or 0), math.min(math.max(wanted_ms * 1000, now_us - CATCH_UP), now_us) - room)
end

-- next_visit(due, reopens, since): when (ms) a claim finds more in a queue whose first timer is due then, by what open_gate
-- said.
local function next_visit(due, reopens, since)
  if since and reopens and due <= now then
    return math.max(reopens, now + GATHERED)
  end
  return math.max(due, reopens or now)
end
