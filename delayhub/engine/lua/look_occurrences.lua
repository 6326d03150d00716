-- Reads where periodic entries stand, and notes for those that have the caller's fingerprint that a beat tends them.
-- KEYS: lane
-- ARGV: after how many ms to note it again, then for each entry: name, fingerprint
-- Returns: now in ms, then for each entry its JSON, or '' where there is none
-- Complexity: O(entries)
-- Uses: now, occurrence
local lane, pause, out = KEYS[1], tonumber(ARGV[1]), {now}

for i = 2, #ARGV, 2 do
  local entry = load_entry(lane, ARGV[i])
  if entry and entry.print == ARGV[i + 1] and now - (entry.seen or 0) >= pause then
    entry.seen = now
    save_entry(lane, ARGV[i], entry)
  end
  out[#out + 1] = entry and cjson.encode(entry) or ''
end
return out
