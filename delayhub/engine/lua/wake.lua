-- Rings the bell of a lane again, for a consumer that heard it and has no credit: another that listens may have.
-- KEYS: lane
-- ARGV: none
-- Returns: nothing
-- Complexity: O(1)
-- Uses: ring
ring(KEYS[1])
