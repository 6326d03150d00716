-- next_turn(): the turn of a flow key behind all others that wait for theirs.
local turns = 0
local function next_turn()
  turns = turns + 1
  return now_us - PARK_SINCE + turns
end

-- whose_turn(q, name): who takes the place of the first in line: for a flow key, that key of the step whose turn it is. A claim
-- removes so many turns of keys whose last message a script of an earlier release has taken.
local GONE = 200
local gone = 0
local function whose_turn(q, name)
  while task_of_key(name) and gone < GONE do
    local found = redis.call('ZRANGE', q .. TURNS, 0, 0)[1]
    if not found or redis.call('ZSCORE', q .. OPEN, found) then
      return found or name
    end
    redis.call('HINCRBY', q .. HEALED, 'turns', redis.call('ZREM', q .. TURNS, found))
    gone = gone + 1
  end
  return name
end
