-- claim_queue(q, key_limit, allowed, bonus, lease_end, token, slot_until): leases up to `allowed` due timers of a queue; of each
-- flow key up to `key_limit`, which is nil where none waits in sets of flow keys. Returns their ids, {id, strikes, …}, how many
-- slots of theirs are held already, and how many flow keys they have.
local function claim_queue(q, key_limit, allowed, bonus, lease_end, token, slot_until)
  if not key_limit then
    local ids, struck = lease_timers(q, take_due(q, q, allowed, bonus), {}, lease_end, token)
    return ids, struck, 0, 0
  end
  local due, keys, limits, turns = take_turns(q, allowed, key_limit, bonus)
  local held = limits.most and hold_slots(q, due, keys, slot_until) or 0
  local ids, struck = lease_timers(q, due, keys, lease_end, token)
  return ids, struck, held, turns
end

-- plan_claim(lane, name, keyed, reopens, since): puts the queue on the agenda for when it next wants a claim, or takes it off:
-- at its next due timer, or the turn of its next flow key, but not before its gate opens; or where a lease runs out sooner.
local function plan_claim(lane, name, keyed, reopens, since)
  local q = lane .. ':' .. name
  local key, turn = unpack(redis.call('ZRANGE', q .. TURNS, 0, 0, 'WITHSCORES'))
  if key == '' and not keyed then
    -- No timer of a flow key waits. Without them the others do not go by the line, so this turn would never be over.
    redis.call('ZREM', q .. TURNS, key)
    turn = nil
  end
  local head = first_due(q, q, not turn)
  if turn then
    head = math.min(head or math.huge, math.floor(tonumber(turn)))
  end
  local lease_end = redis.call('ZRANGE', q .. LEASED, 0, 0, 'WITHSCORES')[2]
  local wake_at = math.min(
    head and next_visit(head, reopens, since) or math.huge, lease_end and tonumber(lease_end) or math.huge)
  if wake_at < math.huge then
    redis.call('ZADD', lane .. AGENDA, wake_at, name)
  else
    redis.call('ZREM', lane .. AGENDA, name)
  end
end
