-- prepare(q, max_strikes): ends leases that ran out. Returns whether there may be limits, strikes, revoked messages or unique
-- keys, which most queues have none of: one call says so.
local function prepare(q, max_strikes)
  if redis.call('ZRANGEBYSCORE', q .. LEASED, '-inf', now, 'LIMIT', 0, 1)[1] then
    seldom().reap(q, 100, max_strikes)
  end
  return redis.call('EXISTS', q .. LIMITED, q .. OPEN, q .. SHUT, q .. STRIKES, q .. REVOKED, q .. UNIQUE) > 0
end
