-- Pauses flow keys of a timer queue, or resumes them.
-- KEYS: queue, lane
-- ARGV: queue name, then for each: flow key, until ms ('' resumes it)
-- Returns: 1
-- Complexity: O(log n) a key
-- Uses: now, ring, note_agenda, waiting, line
local q = KEYS[1]
for i = 2, #ARGV, 2 do
  local key = ARGV[i]
  if ARGV[i + 1] ~= '' then
    redis.call('HSET', q .. PAUSED, key, ARGV[i + 1])
  elseif redis.call('HDEL', q .. PAUSED, key) == 1 then
    -- Its place in the line may be as far away as the end of its pause.
    if redis.call('ZSCORE', q .. TURNS, key) then
      note_turn(q, key, now)
      note_agenda(KEYS[2], ARGV[1], now)
    end
  end
end
return 1
