-- open_key(limits, place, want, head): how many timers of the key at that place of the line may pass, whose first one is due
-- at `head` (ms); when it next may (ms) where that is fewer; and where it has a rate, its theoretical arrival time (GCRA): that
-- of the permit after the last one used (µs). Permits that came while a due timer waited are not lost, for a tenth of a
-- second, as at the gate of the queue.
local function open_key(limits, place, want, head)
  local allowed, reopens, arrival = want, nil, nil
  local shut_until = tonumber(limits.shut[place] or 0)
  if shut_until > now then
    return 0, shut_until
  end
  if limits.most then
    local free = limits.most - tonumber(limits.held[place] or 0)
    if free < allowed then
      allowed, reopens = math.max(free, 0), limits.slot_ends
    end
  end
  if limits.interval then
    local since = math.min(math.max(head * 1000, now_us - CATCH_UP), now_us) - limits.burst * limits.interval
    arrival = math.max(tonumber(limits.arrivals[place] or 0), since)
    local permits = math.max(math.floor((now_us - arrival + 0.5) / limits.interval), 0)
    if permits < allowed then
      allowed = permits
      reopens = math.max(math.ceil((arrival + (allowed + 1) * limits.interval) / 1000), now + GATHERED)
    end
  end
  return allowed, reopens, arrival
end

-- pass_key(base, limits, arrival, count): uses up the key's permits. Once all are back, and no late claim can ask for
-- those before, nothing of them is kept.
local function pass_key(base, limits, arrival, count)
  if arrival then
    arrival = arrival + count * limits.interval
    local full_ms = math.ceil((arrival - now_us + limits.burst * limits.interval + CATCH_UP) / 1000)
    redis.call('SET', base .. KEY_TAT, string.format('%.0f', arrival), 'PX', math.max(full_ms, 1))
  end
end
