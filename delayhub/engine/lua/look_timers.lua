-- When timers fire.
-- KEYS: queue
-- ARGV: ids
-- Returns: for each id: due ms, 0 (a consumer holds it) or -1 (there is none)
-- Complexity: O(log n) an id and set of the queue
-- Uses: waiting
local q = KEYS[1]
local leased, out = redis.call('ZMSCORE', q .. LEASED, unpack(ARGV)), {}
for i = 1, #ARGV do
  out[i] = leased[i] and 0 or -1
end
for _, set in ipairs((sets_of(q))) do
  for i, score in ipairs(redis.call('ZMSCORE', set, unpack(ARGV))) do
    if score and out[i] ~= 0 then
      out[i] = math.floor(tonumber(score) / 16)
    end
  end
end
return out
