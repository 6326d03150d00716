-- Stores a message with a unique key: ready where its time has come, else waiting; or not, where the key is taken.
-- KEYS: queue, lane
-- ARGV: id, due ms, step, payload, publish token ('' for none), unique key, what is kept beside it (see parts/pass_key.lua), for
--   how many ms it is taken (0: until the end or the start of the message), where it is taken: refuse, replace, wait or continue;
--   to continue, the lease by which the publisher holds the message that has the key: its token, ':', the id
-- Returns: outcome (added, refused, replaced, follows: it waits for the key, repeated: this publish had stored it already), the
--   id it has, or that of the message which has the key; of one that was replaced: id, payload
-- Complexity: O(log n); where the id is taken, O(copies) as well (100 at most)
-- Uses: now, ring, ready, leave_flight, pass_key, forget, task_of, places, parked, lift, place, copies, key_holder, unique, offer_for_a_time, offer
return {offer(KEYS[1], KEYS[2], {
  id = ARGV[1], due = tonumber(ARGV[2]), step = tonumber(ARGV[3]), payload = ARGV[4], token = ARGV[5], key = ARGV[6],
  about = ARGV[7], ms = tonumber(ARGV[8]), mode = ARGV[9], lease = ARGV[10]})}
