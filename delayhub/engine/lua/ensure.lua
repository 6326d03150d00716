-- Makes sure that timers fire no later than asked: absent ones are added, later ones pulled earlier, leased ones left.
-- KEYS: queue, lane
-- ARGV: queue name, then for each timer: id, due ms, step
-- Returns: for each timer: added, pulled or left
-- Complexity: O(log n) a timer
-- Uses: ring, note_agenda
local q, lane = KEYS[1], KEYS[2]
local out, earliest = {}, nil
local leases = redis.call('EXISTS', q .. LEASED) == 1
for i = 2, #ARGV, 3 do
  local id, due, outcome = ARGV[i], tonumber(ARGV[i + 1]), 'left'
  if not leases or not redis.call('ZSCORE', q .. LEASED, id) then
    local score, was = due * 16 + ARGV[i + 2], redis.call('ZSCORE', q .. WAITING, id)
    if not was or tonumber(was) > score then
      redis.call('ZADD', q .. WAITING, string.format('%d', score), id)
      outcome = was and 'pulled' or 'added'
      earliest = math.min(earliest or due, due)
    end
  end
  out[#out + 1] = outcome
end
if earliest then
  note_agenda(lane, ARGV[1], earliest)
end
return out
