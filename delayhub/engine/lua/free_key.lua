-- Frees a unique key: the first message that waits for it has it then. The message that had it stays.
-- KEYS: queue
-- ARGV: unique key
-- Returns: 1 if it was taken, else 0
-- Complexity: O(log n)
-- Uses: leave_flight, pass_key, forget
local q, key = KEYS[1], ARGV[1]
local id = redis.call('HGET', q .. UNIQUE, 'key:' .. key)
local taken = redis.call('ZREM', q .. TIMED, key)
redis.call('HDEL', q .. TIMED_IDS, key)
if id then
  redis.call('HDEL', q .. UNIQUE, 'id:' .. id)
  pass_key(q, key)
  return 1
end
return taken
