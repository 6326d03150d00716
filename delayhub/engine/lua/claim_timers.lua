-- Claims due timers of the queues of a lane whose time on the agenda has come, as their gates and weights allow.
-- KEYS: lane
-- ARGV: consumer, lease ms, slot ms, limit, the limit of queues with flow keys, that of each flow key in a queue, 1 where queues
--   without a gate are shut, then acknowledgements, grouped: queue name, count, and for each: id, token
-- Returns: now µs, when to come back (ms; -1: nothing waits), 1 if more is due, 1 if this consumer holds the alarm,
--   acknowledged, then a list for each queue that gave something: its name, token, ids, {id, strikes, …}, how many flow keys they have
--   (0: the queue has none); and the queues that are shut since they have no gate
-- Complexity: O(log n) a timer claimed, reaped or acknowledged, O(steps in use) a queue of the agenda (64 at most)
-- Uses: now, ring, allow_writes_when_full, draw_token, note_claim, drop, owned, acknowledge, waiting, line, first_due, permits, take_due,
--   take_first, slots, timers, key_limits, key_gate, key_turn, take_turns, claim_queue, gate, alarm
-- Seldom: leave_flight, pass_key, forget, task_of, places, parked, lift, mark_done
local lane, consumer, lease, slot, limit = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local keyed_limit, key_limit, claimed, acknowledged, at, more = tonumber(ARGV[5]), tonumber(ARGV[6]), {}, 0, 8, 0
allow_writes_when_full(lane)
note_claim(lane, limit)
while at < #ARGV do
  local count = tonumber(ARGV[at + 1])
  acknowledged = acknowledged + acknowledge(lane .. ':' .. ARGV[at], at + 2, count)
  at = at + 2 + 2 * count
end

local names = limit > 0 and redis.call('ZRANGEBYSCORE', lane .. AGENDA, '-inf', now, 'LIMIT', 0, 64) or {}
local weights, bonuses, keyed, whole, ungated = {}, {}, {}, 0, ARGV[7] == '1' and {} or nil
for i, name in ipairs(names) do
  local weight, bonus, steps
  weight, bonus, steps, keyed[i] = unpack(
    redis.call('HMGET', lane .. ':' .. name .. GATE, 'weight', 'bonus', 'steps', 'keyed'))
  weights[i], bonuses[i] = tonumber(weight or 1), tonumber(bonus or BONUS_MS)
  steps_of[lane .. ':' .. name] = tonumber(steps or 0)
  whole = whole + weights[i]
end
for i, name in ipairs(names) do
  local q = lane .. ':' .. name
  keyed[i] = reap_timers(q, 100) or keyed[i]
  local share = math.ceil(limit * weights[i] / whole)
  whole = whole - weights[i]
  local allowed, reopens, since = open_gate(q, keyed[i] and math.min(share, keyed_limit) or share, name, ungated)
  local count, spare = 0, 0
  if allowed > 0 then
    local token = draw_token(lane)
    local ids, struck, held, turns = claim_queue(
      q, keyed[i] and key_limit, allowed, bonuses[i], now + lease, token, now + slot)
    count = #ids
    if count > 0 then
      spare = pass_gate(q, ids, now + slot, since, held)
      limit, keyed_limit = limit - count, keyed_limit - (keyed[i] and count or 0)
      claimed[#claimed + 1] = {name, token, ids, struck, turns}
    end
  end
  -- Where the gate would have let more pass than were due, it held nothing back: the next timer passes at its due time.
  plan_claim(lane, name, keyed[i], count == allowed and spare == 0 and reopens or nil, since)
end

local come_back = tonumber(redis.call('ZRANGE', lane .. AGENDA, 0, 0, 'WITHSCORES')[2])
if come_back and come_back <= now then
  more = 1
  ring(lane)
end
local holds = come_back and alarm(lane, consumer, come_back) or 0
return {now_us, come_back or -1, more, holds, acknowledged, claimed, ungated or {}}
