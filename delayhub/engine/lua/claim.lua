-- Claims due messages of a consumer's queues: pops and leases them in one step, so that none is lost between the two. Each queue
-- gets an equal share of what the ones before it left. Acknowledgements of earlier entries travel along. Messages of tasks with a
-- limit go to free processes only: at most that many come, also beyond the limit of the claim.
-- KEYS: lane and queue, for each queue
-- ARGV: consumer, lease ms, limit, free processes, max bytes, max strikes, then for each queue: 1 if its entries need no
--   acknowledgement, number of acknowledgements, and for each of those: id, token
-- Returns: now µs, when to come back (ms; -1: nothing waits), 1 if more is ready, 1 if this consumer holds the alarm,
--   acknowledged, a list for each queue that gave something: its number, token, {id, payload, …}, {id, strikes, …} of those
--   that were delivered before, revoked ids, {ids of tasks with a limit, and those that count in flight} (0 for none of the
--   three); of limits: 0 (none), 1, or 2 where a message is left that a free process could start; when the next one reopens (ms, or -1)
-- Complexity: O(log n) an entry claimed, promoted, reaped or acknowledged
-- Uses: now, ring, allow_writes_when_full, draw_token, drop, owned, acknowledge, prepare, promote, steps, take, outlook, alarm
-- Seldom: leave_flight, pass_key, forget, key_holder, mark_done, without_done, reap, land, hold_back, suspect, extras, task_of, places, parked, lift, limit, permit, take_off, turns, give, take_parked, park, held_by, take_ready, take_limited
local consumer, lease, limit, free = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local max_bytes, max_strikes, queues, claimed, acknowledged, at = tonumber(ARGV[5]), tonumber(ARGV[6]), #KEYS / 2, {}, 0, 7
local more, come_back, stop, limits, limiting, is_drained, reopens = 0, nil, false, 0, {}, {}, nil
allow_writes_when_full(KEYS[2])

for n = 1, queues do
  local lane, q, no_ack, acks = KEYS[2 * n - 1], KEYS[2 * n], ARGV[at] == '1', tonumber(ARGV[at + 1])
  acknowledged = acknowledged + acknowledge(q, at + 2, acks)
  at = at + 2 + 2 * acks
  local has_more = prepare(q, max_strikes)
  limiting[n] = has_more and redis.call('EXISTS', q .. LIMITED, q .. OPEN, q .. SHUT) > 0
  if (limit > 0 or limiting[n] and free > 0) and not stop then
    -- An equal share of what is left: the last queues get what the first ones did not use.
    local share = math.ceil(limit / (queues - n + 1))
    promote(q, math.max(share, 100))
    local entries, token = {}, no_ack and 0 or limiting[n] and draw_token(lane)
    local lease_end, count, bytes, started, limited = no_ack and 0 or now + lease, 0, 0, 0, nil
    if limiting[n] then
      count, bytes, stop, started, limited = seldom().take_limited(q, {
        want = share, free = free, max_bytes = max_bytes, lease_end = lease_end, token = token, out = entries, has_others = #claimed > 0})
      free = free - started
    else
      count, bytes, stop, token = take(q, lane, share, max_bytes, lease_end, token, entries, #claimed > 0, has_more)
      is_drained[n] = not stop and count < share
    end
    limit, max_bytes = math.max(limit - count, 0), max_bytes - bytes
    if count > 0 then
      local gave = {n, token, entries, 0, 0, limited or 0}
      claimed[#claimed + 1] = has_more and seldom().with_extras(q, gave) or gave
    end
  end
end

for n = 1, queues do
  local left, wake_at = outlook(KEYS[2 * n], is_drained[n])
  more = left and 1 or more
  if limiting[n] then
    left, wake_at, limits, reopens = seldom().with_limits(KEYS[2 * n], left, wake_at, limits, reopens)
  end
  if left then
    -- A claim that leaves work behind wakes one more consumer, so that not all of them wake at once.
    ring(KEYS[2 * n - 1])
  end
  come_back = wake_at and math.min(come_back or wake_at, wake_at) or come_back
end
return {now_us, come_back or -1, more, come_back and alarm(KEYS[1], consumer, come_back) or 0, acknowledged, claimed,
  limits, reopens or -1}
