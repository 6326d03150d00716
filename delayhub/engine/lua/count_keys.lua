-- How many timers some flow keys of a queue have.
-- KEYS: queue
-- ARGV: how many of the line to count at most, then flow keys (none: the first of the line)
-- Returns: for each key: its name, how many wait, how many of them are due, when it next has a turn (ms), its slots in use
-- Complexity: O(log n) a key and set
-- Uses: now, waiting
local q, out, last = KEYS[1], {}, string.format('%d', now * 16 + 15)
local keys = {unpack(ARGV, 2)}
if #keys == 0 then
  keys = redis.call('ZRANGE', q .. TURNS, 0, tonumber(ARGV[1]) - 1)
end
for _, key in ipairs(keys) do
  local all, due = 0, 0
  for _, set in ipairs((sets_of(q, base_of(q, key)))) do
    all = all + redis.call('ZCARD', set)
    due = due + redis.call('ZCOUNT', set, '-inf', last)
  end
  local turn = math.floor(tonumber(redis.call('ZSCORE', q .. TURNS, key) or 0))
  out[#out + 1] = {key, all, due, turn, tonumber(redis.call('HGET', q .. HELD, key) or 0)}
end
return out
