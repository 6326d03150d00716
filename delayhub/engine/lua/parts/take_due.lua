-- take_due(q, base, want, bonus): takes up to `want` due timers out of the sets they wait in, as {id, score, …} in the order of
-- due time + step × bonus (ms). So a less urgent timer goes first where it was due so much earlier.
local function rank_of(score, bonus)
  local step = score % 16
  return (score - step) / 16 + step * bonus
end

local function leave(set, found, count)
  local ids = {}
  for i = 1, count * 2, 2 do
    ids[#ids + 1] = found[i]
  end
  redis.call('ZREM', set, unpack(ids))
end

local function take_due(q, base, want, bonus)
  local sets, steps = sets_of(q, base)
  local lines, last = {}, math.huge
  for i, set in ipairs(sets) do
    -- What comes after `want` timers of a set that was read need not be read: nothing of it would be taken.
    local until_ms = math.min(now, last - steps[i] * bonus)
    local found = redis.call(
      'ZRANGEBYSCORE', set, '-inf', string.format('%d', until_ms * 16 + 15), 'WITHSCORES', 'LIMIT', 0, want)
    if #sets == 1 and #found > 0 then
      leave(set, found, #found / 2)
      return found
    elseif #found > 0 then
      lines[#lines + 1] = {set = set, found = found, count = 0, rank = rank_of(found[2], bonus)}
      if #found == want * 2 then
        last = math.min(last, rank_of(found[#found], bonus))
      end
    end
  end
  local taken = {}
  while #taken < want * 2 do
    local line
    for _, other in ipairs(lines) do
      if other.rank and (not line or other.rank < line.rank) then
        line = other
      end
    end
    if not line then
      break
    end
    local at = line.count * 2 + 1
    taken[#taken + 1], taken[#taken + 2] = line.found[at], line.found[at + 1]
    line.count = line.count + 1
    line.rank = line.found[at + 2] and rank_of(line.found[at + 3], bonus)
  end
  for _, line in ipairs(lines) do
    if line.count > 0 then
      leave(line.set, line.found, line.count)
    end
  end
  return taken
end
