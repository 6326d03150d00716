-- How many timers of some queues of a lane are where, and when the first ones are due.
-- KEYS: lane
-- ARGV: how many flow keys of a queue to ask what is due (timers of more count as not due), then queue names
-- Returns: for each queue: how many are not due yet, are due, are leased; when the first of all and the first of those not
--   due yet is due (ms; -1: none)
-- Complexity: O(log n) a queue, flow key and set
-- Uses: now, waiting
local last = string.format('%d', now * 16 + 15)
local function earlier(known, score)
  local at = score and math.floor(tonumber(score) / 16)
  return at and (known < 0 or at < known) and at or known
end

local out = {}
for i = 2, #ARGV do
  local q = KEYS[1] .. ':' .. ARGV[i]
  local all, due, first, later = tonumber(redis.call('HGET', q .. GATE, 'keyed') or 0), 0, -1, -1
  local keys = {''}
  for _, key in ipairs(all > 0 and redis.call('ZRANGE', q .. TURNS, 0, ARGV[1] - 1) or {}) do
    keys[#keys + 1] = key ~= '' and key or nil
  end
  for _, key in ipairs(keys) do
    for _, set in ipairs((sets_of(q, base_of(q, key)))) do
      all = all + (key == '' and redis.call('ZCARD', set) or 0)
      due = due + redis.call('ZCOUNT', set, '-inf', last)
      first = earlier(first, redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')[2])
      later = earlier(
        later, redis.call('ZRANGEBYSCORE', set, '(' .. last, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
    end
  end
  out[#out + 1] = {all - due, due, redis.call('ZCARD', q .. LEASED), first, later}
end
return out
