-- Frees a unique key: the first message that waits for it has it then. The message that had it stays.
-- KEYS: queue
-- ARGV: unique key, id of the message that has it ('' for any)
-- Returns: 1 if it was taken, by that message where one is named; else 0, also where it was taken for a time that has passed
-- Complexity: O(log n)
-- Uses: now, leave_flight, pass_key, forget
local q, key, wanted = KEYS[1], ARGV[1], ARGV[2]
local id = redis.call('HGET', q .. UNIQUE, 'key:' .. key)
local taken = 0
if wanted == '' or redis.call('HGET', q .. TIMED_IDS, key) == wanted then
  taken = tonumber(redis.call('ZSCORE', q .. TIMED, key) or 0) > now and 1 or 0
  redis.call('ZREM', q .. TIMED, key)
  redis.call('HDEL', q .. TIMED_IDS, key)
end
if id and (wanted == '' or id == wanted) then
  redis.call('HDEL', q .. UNIQUE, 'id:' .. id)
  pass_key(q, key)
  return 1
end
return taken
