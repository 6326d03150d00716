-- A parked message's place in line of all steps is one number, so that one set has the order of all of them.
-- place_of(step, score): the place in line of all steps, as a number; step_and_score is its inverse.
local function place_of(step, score)
  return step * PARK_STEP + math.max(score - PARK_SINCE, 0)
end

local function step_and_score(place)
  local step = math.floor(place / PARK_STEP)
  return step, string.format('%.0f', place - step * PARK_STEP + PARK_SINCE)
end

-- turn_place(place, turn): the turn of a flow key in the step of its first message's place.
local function turn_place(place, turn)
  return string.format('%.0f', math.floor(tonumber(place) / PARK_STEP) * PARK_STEP + turn)
end
