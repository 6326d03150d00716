-- Ends leases and their entries. What another consumer holds by now is left alone.
-- KEYS: queue
-- ARGV: for each lease: id, token
-- Returns: how many leases still held
-- Complexity: O(log n) a lease
-- Uses: forget, owned, acknowledge
return acknowledge(KEYS[1], 1, #ARGV / 2)
