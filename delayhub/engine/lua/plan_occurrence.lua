-- Writes down a periodic entry that is new, or whose definition changed, unless it changed meanwhile.
-- KEYS: lane
-- ARGV: name, fingerprint and count that the caller has read ('' and 0 for none), the entry as JSON
-- Returns: 1 (written) or 0 (it is another by now)
-- Complexity: O(1)
-- Uses: now, occurrence
local lane, name = KEYS[1], ARGV[1]
local known, entry = load_entry(lane, name), cjson.decode(ARGV[4])

if ARGV[2] ~= (known and known.print or '') or tonumber(ARGV[3]) ~= (known and known.count or 0) then
  return 0
end
entry.seen = now
save_entry(lane, name, entry)
return 1
