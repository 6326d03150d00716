-- Claims due messages of a consumer's queues: pops and leases them in one step, so that none is lost between the two.
-- Each queue gets an equal share of what the ones before it left. Acknowledgements of earlier entries travel along. Messages
-- of tasks with a limit go to free processes only: at most that many come, also beyond the limit of the claim.
-- KEYS: lane and queue, for each queue
-- ARGV: consumer, lease ms, limit, free processes, max bytes, max strikes, then for each queue: 1 if its entries need no
--   acknowledgement, number of acknowledgements, and for each of those: id, token
-- Returns: now µs, when to come back (ms; -1: nothing waits), 1 if more is ready, 1 if this consumer holds the alarm,
--   acknowledged, a list for each queue that gave something: its number, token, {id, payload, …},
--   {id, strikes, …} of those that were delivered before, revoked ids, ids of tasks with a limit; then of limits: 0 (there
--   are none), 1, or 2 where some message is left that a free process could start; when the next limit reopens (ms, or -1)
-- Complexity: O(log n) an entry claimed, promoted, reaped or acknowledged
-- Uses: now, ring, allow_writes_when_full, forget, task_of, places, parked, lift, owned, acknowledge, reap, promote,
--   suspect, take, limit, take_parked, take_ready, take_limited, extras, alarm
local consumer, lease, limit, free = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local max_bytes, max_strikes = tonumber(ARGV[5]), tonumber(ARGV[6])
local queues, claimed, acknowledged, at = #KEYS / 2, {}, 0, 7
local more, come_back, stop, limits, limiting, reopens = 0, nil, false, 0, {}, nil
allow_writes_when_full(KEYS[2])

for n = 1, queues do
  local lane, q, no_ack, acks = KEYS[2 * n - 1], KEYS[2 * n], ARGV[at] == '1', tonumber(ARGV[at + 1])
  acknowledged = acknowledged + acknowledge(q, at + 2, acks)
  at = at + 2 + 2 * acks
  reap(q, 100, max_strikes)
  limiting[n] = redis.call('EXISTS', q .. LIMITED, q .. OPEN, q .. SHUT) > 0
  if (limit > 0 or limiting[n] and free > 0) and not stop then
    -- An equal share of what is left: the last queues get what the first ones did not use.
    local share = math.ceil(limit / (queues - n + 1))
    promote(q, math.max(share, 100))
    local entries, token = {}, no_ack and 0 or redis.call('INCR', lane .. TOKEN)
    local count, bytes, limited
    count, bytes, stop, limited = take_any(q, limiting[n], {
      want = share, free = free, max_bytes = max_bytes, lease_end = no_ack and 0 or now + lease, token = token,
      out = entries, has_others = #claimed > 0})
    limit, free, max_bytes = math.max(limit - count, 0), free - #limited, max_bytes - bytes
    if count > 0 then
      local strikes, revoked = extras(q, entries)
      claimed[#claimed + 1] = {n, token, entries, strikes, revoked, limited}
    end
  end
end

for n = 1, queues do
  local left, wake_at = outlook(KEYS[2 * n])
  more = left and 1 or more
  if limiting[n] then
    left, wake_at, limits, reopens = with_limits(KEYS[2 * n], left, wake_at, limits, reopens)
  end
  if left then
    -- A claim that leaves work behind wakes one more consumer, so that not all of them wake at once.
    ring(KEYS[2 * n - 1])
  end
  if wake_at and (not come_back or wake_at < come_back) then
    come_back = wake_at
  end
end
local holds = come_back and alarm(KEYS[1], consumer, come_back) or 0
return {now_us, come_back or -1, more, holds, acknowledged, claimed, limits, reopens or -1}
