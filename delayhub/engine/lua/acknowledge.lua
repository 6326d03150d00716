-- Ends leases and removes their entries; also those whose lease ran out meanwhile, since their work is done.
-- KEYS: queue
-- ARGV: for each lease: id, token
-- Returns: how many entries were removed
-- Complexity: O(log n) a lease
-- Uses: forget, task_of, places, parked, lift, owned, acknowledge
return acknowledge(KEYS[1], 1, #ARGV / 2)
