-- A page of a queue's entries, for people.
-- KEYS: queue
-- ARGV: place (waiting, ready, parked, leased, dead), offset, limit, 1 with payloads
-- Returns: for each entry: id, ms (due, lease end or death), step, strikes, reason, payload, 1 if delivered before
-- Complexity: O(log n + offset + limit); of what is parked, also O(tasks)
-- Uses: task_of, places, parked
local q, place, offset, limit = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local out = {}

local function add(key, of_score)
  local size = redis.call('ZCARD', key)
  if limit > 0 and offset < size then
    local found = redis.call('ZRANGE', key, offset, offset + limit - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      local id, ms, step = found[i], of_score(tonumber(found[i + 1]))
      local payload = ARGV[4] == '1' and redis.call('HGET', q .. PAYLOAD, id) or false
      local strikes = redis.call('HGET', q .. STRIKES, id)
      local reason = redis.call('HGET', q .. REASON, id)
      out[#out + 1] = {id, ms, step or 0, tonumber(strikes or 0), reason, payload, strikes and 1 or 0}
    end
    limit = limit - #found / 2
  end
  offset = math.max(0, offset - size)
end

if place == 'ready' then
  for step = 0, MAX_STEPS - 1 do
    add(q .. READY .. step, function(score) return math.floor(score / 1000), step end)
  end
elseif place == 'waiting' then
  add(q .. WAITING, function(score) return math.floor(score / 16), score % 16 end)
elseif place == 'parked' then
  for _, task in ipairs(parking_tasks(q)) do
    if limit <= 0 then
      break -- there may be a hundred thousand flow keys
    end
    add(q .. PARKED_BY .. task, function(place_in_line)
      local step, score = step_and_score(place_in_line)
      return math.floor(score / 1000), step
    end)
  end
else
  add(q .. (place == 'leased' and LEASED or DEAD), function(score) return score, 0 end)
end
return out
