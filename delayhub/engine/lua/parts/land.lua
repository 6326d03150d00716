-- land(q): where no consumer has a message, none has a place among those that run at once: what is kept of places was of leases
-- that expired with their queue (`x-expires`). Each key of a queue expires by itself, and one that was made after the last
-- publish not at all.
local function land(q)
  -- One call asks for both, since a key that is named twice counts twice: there are places, and no leases.
  if redis.call('EXISTS', q .. LEASED, q .. LEASED, q .. FLYING) == 1 then
    local ids = redis.call('HRANDFIELD', q .. FLYING, 1000)
    leave_flight(q, ids)
    redis.call('HINCRBY', q .. HEALED, 'places', #ids)
  end
end
