-- When timers fire.
-- KEYS: queue
-- ARGV: flow key ('' for none), then ids
-- Returns: for each id: due ms, 0 (a consumer holds it) or -1 (there is none)
-- Complexity: O(log n) an id and set of the queue
-- Uses: waiting
local q, ids = KEYS[1], {unpack(ARGV, 2)}
local leased, out = redis.call('ZMSCORE', q .. LEASED, unpack(ids)), {}
for i = 1, #ids do
  out[i] = leased[i] and 0 or -1
end
for _, set in ipairs((sets_of(q, base_of(q, ARGV[1])))) do
  for i, score in ipairs(redis.call('ZMSCORE', set, unpack(ids))) do
    if score and out[i] ~= 0 then
      out[i] = math.floor(tonumber(score) / 16)
    end
  end
end
return out
