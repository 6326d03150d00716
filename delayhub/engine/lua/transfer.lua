-- Moves messages that no consumer holds to another queue; due time and priority stay, the dead are ready there.
-- KEYS: queue, other queue, lane of the other queue
-- ARGV: for each entry: id, SHA-1 of its payload as the caller read it, its payload in the other queue
-- Returns: for each entry: moved, leased (a consumer holds it), taken (its unique key is, in the other queue) or absent (gone, or
--   changed meanwhile)
-- Complexity: O(log n + size of the payload) an entry
-- Uses: now, ring, ready, leave_flight, pass_key, forget, task_of, places, parked, lift, place, copies, key_holder, unique
local from, to, lane = KEYS[1], KEYS[2], KEYS[3]

local function move(id, payload)
  local score, due, step = redis.call('ZSCORE', from .. WAITING, id), 0, 0
  if score then
    due, step = math.floor(tonumber(score) / 16), tonumber(score) % 16
  end
  for ready_step = 1, MAX_STEPS - 1 do
    if not score and redis.call('ZSCORE', from .. READY .. ready_step, id) then
      step = ready_step
    end
  end
  local key, about = key_of(from, id)
  if key and holder_of(to, key) then
    return 'taken'
  end
  score = string.match(redis.call('HGET', from .. UNIQUE, 'due:' .. id) or '', '^%d+')
  due = score and math.floor(tonumber(score) / 16) or due -- it waited for its key, and its due time is another
  local was, parked_step = lift(from, id, false)
  if was == 'leased' then
    return 'leased'
  end
  -- A copy goes by the name it was a copy of, which may be free there.
  local base = string.match(id, '^(.*)#%d+$')
  local name = base and redis.call('HEXISTS', from .. COPIES, 'live:' .. base) == 1 and base or id
  forget(from, {id})
  if redis.call('HSETNX', to .. PAYLOAD, name, payload) == 0 then
    name = copy_of(to, name, payload)
  end
  if key then
    give_key(to, key, name, about)
  end
  place(to, lane, name, due, parked_step or step)
  return 'moved'
end

local out = {}
for i = 1, #ARGV, 3 do
  local stored = redis.call('HGET', from .. PAYLOAD, ARGV[i])
  -- An id has a payload exactly while it is in one of the sets.
  local is_same = stored and redis.sha1hex(stored) == ARGV[i + 1]
  out[#out + 1] = is_same and move(ARGV[i], ARGV[i + 2]) or 'absent'
end
return out
