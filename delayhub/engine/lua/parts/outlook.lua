-- outlook(q, is_drained): whether something is ready or due now, and when the queue next needs a claim (ms, or nil).
-- `is_drained`: it is known that nothing is ready.
local function outlook(q, is_drained)
  local left, wake_at = false, nil
  if not is_drained then -- most often the first set is what it is in
    left = redis.call('EXISTS', q .. READY .. '0') == 1 or redis.call('EXISTS', unpack(ready_sets(q))) > 0
  end
  local head = redis.call('ZRANGE', q .. WAITING, 0, 0, 'WITHSCORES')[2]
  if head then
    wake_at = math.floor(tonumber(head) / 16)
    left = left or wake_at <= now
  end
  local lease_end = redis.call('ZRANGE', q .. LEASED, 0, 0, 'WITHSCORES')[2]
  if lease_end and (not wake_at or tonumber(lease_end) < wake_at) then
    wake_at = tonumber(lease_end)
  end
  return left, wake_at
end
