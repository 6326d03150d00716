-- Moves a periodic entry past an occurrence without a message: it is skipped, or is published in another way.
-- KEYS: lane
-- ARGV: name, token, due ms of the occurrence, its nominal ms (0: it is skipped), ms of the next one (0 for none)
-- Returns: 1 (moved on, or this call had done it already) or 0 (the token does not hold any more)
-- Complexity: O(1)
-- Uses: occurrence
local lane, name, token = KEYS[1], ARGV[1], ARGV[2]
local entry = load_entry(lane, name)

if not may_publish(entry, token, tonumber(ARGV[3])) then
  return entry and entry.done == token and 1 or 0
end
move_on(entry, tonumber(ARGV[4]), tonumber(ARGV[5]))
save_entry(lane, name, entry)
return 1
