-- Pauses flow keys of a timer queue, or resumes them.
-- KEYS: queue, lane
-- ARGV: queue name, then for each: flow key, until ms ('' resumes it)
-- Returns: 1
-- Complexity: O(log n) a key
-- Uses: now, ring, allow_writes_when_full, note_agenda, waiting, line
allow_writes_when_full(KEYS[1])
local q = KEYS[1]
for i = 2, #ARGV, 2 do
  local key, changed = ARGV[i], 1
  if ARGV[i + 1] ~= '' then
    redis.call('HSET', q .. PAUSED, key, ARGV[i + 1])
  else
    changed = redis.call('HDEL', q .. PAUSED, key)
  end
  -- Its place in the line may be as far away as the end of the pause until now.
  if changed == 1 and redis.call('ZSCORE', q .. TURNS, key) then
    local at = math.max(tonumber(ARGV[i + 1]) or now, now)
    note_turn(q, key, at)
    note_agenda(KEYS[2], ARGV[1], at)
  end
end
return 1
