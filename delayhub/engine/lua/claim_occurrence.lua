-- Gives the next occurrence of a periodic entry to one beat, for a while. A beat may claim again what it holds.
-- KEYS: lane
-- ARGV: name, fingerprint, due ms of the occurrence, beat, for how many ms
-- Returns: token ('' for none: it is not due, done, another's, or the entry was changed), now in ms, the entry as JSON
-- Complexity: O(1)
-- Uses: now, occurrence
local lane, name, at, beat = KEYS[1], ARGV[1], tonumber(ARGV[3]), ARGV[4]
local entry = load_entry(lane, name)

if not entry then
  return {'', now, ''}
end
local is_free = not entry.token or entry.holder == beat or entry.till <= now
if entry.print ~= ARGV[2] or entry.next ~= at or at > now or not is_free then
  return {'', now, cjson.encode(entry)}
end
-- Never the same twice, also where the entry was forgotten meanwhile: Redis' clock in µs.
entry.token = string.format('%d', math.max(now_us, tonumber(entry.token or entry.done or 0) + 1))
entry.holder, entry.till, entry.seen = beat, now + tonumber(ARGV[5]), now
save_entry(lane, name, entry)
return {entry.token, now, cjson.encode(entry)}
