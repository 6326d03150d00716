-- ready_sets(q): the keys of what is ready, the most urgent first.
local sets_of_queue = {}
local function ready_sets(q)
  local sets = sets_of_queue[q]
  if not sets then
    -- Written out, since to make a text of each number costs 2.5 times as much. MAX_STEPS are 10.
    sets = {q .. READY .. '0', q .. READY .. '1', q .. READY .. '2', q .. READY .. '3', q .. READY .. '4',
      q .. READY .. '5', q .. READY .. '6', q .. READY .. '7', q .. READY .. '8', q .. READY .. '9'}
    sets_of_queue[q] = sets
  end
  return sets
end
