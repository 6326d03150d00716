-- How many timers of some queues of a lane are where, and when the first ones are due.
-- KEYS: lane
-- ARGV: queue names
-- Returns: for each queue: how many are not due yet, are due, are leased; when the first of all and the first of those not
--   due yet is due (ms; -1: none)
-- Complexity: O(log n) a queue and set
-- Uses: now, waiting
local out, last = {}, string.format('%d', now * 16 + 15)
for i, name in ipairs(ARGV) do
  local q = KEYS[1] .. ':' .. name
  local all, due, first, next_one = 0, 0, -1, -1
  for _, set in ipairs((sets_of(q))) do
    all = all + redis.call('ZCARD', set)
    due = due + redis.call('ZCOUNT', set, '-inf', last)
    local heads = {
      redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2],
      redis.call('ZRANGEBYSCORE', set, '(' .. last, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2],
    }
    local at, later = tonumber(heads[1]), tonumber(heads[2])
    if at and (first < 0 or at < first * 16) then
      first = math.floor(at / 16)
    end
    if later and (next_one < 0 or later < next_one * 16) then
      next_one = math.floor(later / 16)
    end
  end
  out[i] = {all - due, due, redis.call('ZCARD', q .. LEASED), first, next_one}
end
return out
