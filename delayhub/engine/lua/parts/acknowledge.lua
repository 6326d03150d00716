-- acknowledge(q, first, count): of `count` (id, token) pairs in ARGV from `first` on, ends the leases that still hold, and
-- their entries with them. Returns how many.
-- A holder whose lease ran out ends its entry too, wherever that is by now: its work is done. Tokens only grow, and what
-- is kept of a lost lease goes with the entry, so a token that is not older belongs to this entry and to none before it.
-- Where another runs the entry now, its unique key and its place stay that one's: they and the entry end with its lease.
local function acknowledge(q, first, count)
  if count == 0 then
    return 0
  end
  local ids = owned(q, first, count)
  if #ids > 0 then
    redis.call('ZREM', q .. LEASED, unpack(ids))
    redis.call('HDEL', q .. HOLDER, unpack(ids))
    drop(q, ids)
  end
  local ended = #ids
  if ended < count and redis.call('EXISTS', q .. LOST) == 1 then
    for i = first, first + 2 * count - 2, 2 do
      local lost = redis.call('HGET', q .. LOST, ARGV[i])
      if lost and tonumber(ARGV[i + 1]) >= tonumber(lost) then
        local holder = redis.call('HGET', q .. HOLDER, ARGV[i])
        if not (holder and seldom().mark_done(q, ARGV[i], holder)) then
          seldom().lift(q, ARGV[i], true)
          drop(q, {ARGV[i]})
          ended = ended + 1
        end
      end
    end
  end
  return ended
end
