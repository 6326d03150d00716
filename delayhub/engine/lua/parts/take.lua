-- take(q, lane, want, max_bytes, lease_end, token, out, has_others, has_more): pops up to `want` ready messages in order, leases
-- them (a lease_end of 0 deletes them instead) and appends id, payload to `out`. `has_others`: the claim already has
-- messages, which a suspect must not join. `has_more`: there may be strikes. Returns count, bytes, whether the claim must
-- stop here, and the token of the leases: `token`, or one that it draws.
local function hand_out(q, ids, scores, step, lease_end, token)
  if lease_end == 0 then
    drop(q, ids)
    return
  end
  -- Redis formats a number far slower than Lua joins strings, so each is formatted once.
  local leases, holders, ending, prefix = {}, {}, string.format('%d', lease_end), token .. ':' .. step .. ':'
  for i, id in ipairs(ids) do
    leases[2 * i - 1], leases[2 * i] = ending, id
    holders[2 * i - 1], holders[2 * i] = id, prefix .. scores[i]
  end
  redis.call('ZADD', q .. LEASED, unpack(leases))
  redis.call('HSET', q .. HOLDER, unpack(holders))
end

local function take(q, lane, want, max_bytes, lease_end, token, out, has_others, has_more)
  local count, bytes, stop = 0, 0, false
  for step = 0, MAX_STEPS - 1 do
    local key = step == 0 and q .. READY .. '0' or ready_sets(q)[step + 1]
    while count < want and not stop do
      -- Twenty at a time, so that payloads are read beyond the limit of bytes by twenty of them at most.
      local taken, rest, is_suspect = redis.call('ZPOPMIN', key, math.min(want - count, 20)), nil, false
      if #taken == 0 then
        if step == 0 and redis.call('EXISTS', unpack(ready_sets(q))) == 0 then
          return count, bytes, stop, token -- one call instead of one for each step
        end
        break
      end
      rest = {}
      if has_more then
        taken, rest, is_suspect = seldom().suspect(q, taken)
      end
      if is_suspect and (has_others or #out > 0) then
        taken, rest = {}, {taken[1], taken[2], unpack(rest)}
      end
      stop = is_suspect or #rest > 0
      for i = 1, #rest, 2 do
        redis.call('ZADD', key, rest[i + 1], rest[i])
      end
      local ids, scores = {}, {}
      for i = 1, #taken, 2 do
        ids[#ids + 1], scores[#scores + 1] = taken[i], taken[i + 1]
      end
      if #ids > 0 then
        for i, payload in ipairs(redis.call('HMGET', q .. PAYLOAD, unpack(ids))) do
          out[#out + 1], out[#out + 2] = ids[i], payload or ''
          bytes = bytes + #out[#out]
        end
        count, token = count + #ids, token or draw_token(lane)
        hand_out(q, ids, scores, step, lease_end, token)
        stop = stop or bytes >= max_bytes
      end
    end
  end
  return count, bytes, stop, token
end
