-- next_turn(): the turn of a flow key behind all others that wait for theirs.
local turns = 0
local function next_turn()
  turns = turns + 1
  return now_us - PARK_SINCE + turns
end

-- whose_turn(q, name): who takes the place of the first in line: for a flow key, that key of the step whose turn it is.
local function whose_turn(q, name)
  return task_of_key(name) and redis.call('ZRANGE', q .. TURNS, 0, 0)[1] or name
end
