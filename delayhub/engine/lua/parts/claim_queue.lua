-- claim_queue(q, keyed, allowed, bonus, lease_end, token, slot_until): leases up to `allowed` due timers of a queue; `keyed`
-- where some wait in sets of flow keys. Returns their ids and {id, strikes, …}.
local function claim_queue(q, keyed, allowed, bonus, lease_end, token, slot_until)
  if not keyed then
    return lease_timers(q, take_due(q, q, allowed, bonus), {}, lease_end, token)
  end
  local due, keys, limits = take_turns(q, allowed, bonus)
  if limits.most then
    hold_slots(q, due, keys, slot_until)
  end
  return lease_timers(q, due, keys, lease_end, token)
end

-- wanted_at(q, reopens, since): when the queue next wants attention (ms, or nil): at its next due timer, or the turn of its next
-- flow key, but not before its gate opens; or where a lease runs out sooner.
local function wanted_at(q, reopens, since)
  local turn = redis.call('ZRANGE', q .. TURNS, 0, 0, 'WITHSCORES')[2]
  local head = first_due(q, q, not turn)
  if turn then
    head = math.min(head or math.huge, math.floor(tonumber(turn)))
  end
  local lease_end = redis.call('ZRANGE', q .. LEASED, 0, 0, 'WITHSCORES')[2]
  local wake_at = math.min(
    head and next_visit(head, reopens, since) or math.huge, lease_end and tonumber(lease_end) or math.huge)
  return wake_at < math.huge and wake_at or nil
end
