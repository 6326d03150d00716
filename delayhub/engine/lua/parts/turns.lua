-- next_turn(): the turn of a flow key behind all others that wait for theirs.
local turns = 0
local function next_turn()
  turns = turns + 1
  return now_us - PARK_SINCE + turns
end

-- whose_turn(q, name): who takes the place of the first in line: for a flow key, that key of the step whose turn it is.
local function whose_turn(q, name)
  while task_of_key(name) do
    local found = redis.call('ZRANGE', q .. TURNS, 0, 0)[1]
    if not found or redis.call('ZSCORE', q .. OPEN, found) then
      return found or name
    end
    redis.call('ZREM', q .. TURNS, found) -- a script of an earlier release has taken its last
  end
  return name
end
