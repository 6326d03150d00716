-- key_turn(q, key, place, share, bonus, limits): takes up to `share` due timers of the flow key at that place of the line, as its
-- limits allow. Returns a list {id, score, …}, how many of its first were taken, when the key's next one is due (ms, or nil),
-- and when its limits next let one through, where they hold some back.
local function key_turn(q, key, place, share, bonus, limits)
  local base, found, head = base_of(q, key), {}, nil
  local only_set = steps_in_use(q) == 0 and base .. WAITING
  if only_set then
    found = first_of(only_set, share)
    head = found[2] and math.floor(tonumber(found[2]) / 16)
  end
  head = head or first_due(q, base)
  local allowed, reopens, arrival = share, nil, nil
  if key ~= '' then
    allowed, reopens, arrival = open_key(limits, place, share, head or now)
  end
  if not head or head > now or allowed == 0 then
    return found, 0, head, allowed == 0 and reopens or nil
  end
  local count
  if only_set then
    count, head = take_first(only_set, found, share, allowed)
  else
    found = take_due(q, base, allowed, bonus)
    count, head = #found / 2, first_due(q, base)
  end
  if key ~= '' then
    pass_key(base, limits, arrival, count)
  end
  -- Fewer than its limits allow: they hold back none of those that come next.
  return found, count, head, count == allowed and reopens or nil
end
