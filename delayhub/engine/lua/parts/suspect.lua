-- suspect(q, taken): cuts a list of (id, score) so that an id with two or more strikes is the only one in it: a poison
-- message must not take its neighbours along. Returns the list, what was cut off, and whether it is such a suspect.
local function suspect(q, taken)
  if #taken == 0 or redis.call('EXISTS', q .. STRIKES) == 0 then
    return taken, {}, false
  end
  local ids = {}
  for i = 1, #taken, 2 do
    ids[#ids + 1] = taken[i]
  end
  for i, strikes in ipairs(redis.call('HMGET', q .. STRIKES, unpack(ids))) do
    if strikes and tonumber(strikes) >= 2 then
      local keep = math.max(2, 2 * (i - 1))
      return {unpack(taken, 1, keep)}, {unpack(taken, keep + 1)}, i == 1
    end
  end
  return taken, {}, false
end
