-- Ends leases and removes their entries. An entry that another consumer holds by now is not touched.
-- KEYS: queue
-- ARGV: for each lease: id, token
-- Returns: how many leases still held
-- Complexity: O(log n) a lease
-- Uses: forget, owned, acknowledge
return acknowledge(KEYS[1], 1, #ARGV / 2)
