-- replaced_by(q, name): id and payload of the message whose place a message has taken, for a publish whose reply was lost.
local function replaced_by(q, name)
  return string.match(redis.call('HGET', q .. UNIQUE, 'was:' .. name) or '', '^(%Z+)%z(.*)$')
end

-- offer(q, lane, m): stores a message with a unique key, unless the key is taken. `m` has id, due, step, payload, token; key,
-- about, ms (for how long it is taken, 0: see about); and mode, which says what a taken key means: refuse, replace (the one that
-- has it, where no consumer holds that, or the one that waits for it), wait, or continue (as wait, but its own message, which
-- the publisher holds by m.lease: token, ':', id, passes it the key). Returns an outcome, the id, and what was replaced, also by an
-- earlier try: its id and payload.
local function offer(q, lane, m)
  local stored = m.token ~= '' and stored_already(q, m.id, m.token)
  if stored then
    return 'repeated', m.id, replaced_by(q, stored)
  elseif m.ms > 0 then
    return offer_for_a_time(q, lane, m)
  end
  local holder, victim = holder_of(q, m.key), nil
  local is_held = holder and redis.call('ZSCORE', q .. LEASED, holder)
  if holder and m.mode == 'refuse' then
    return 'refused', base_name(q, holder)
  elseif holder and m.mode == 'replace' then
    local is_canvas = string.sub(redis.call('HGET', q .. UNIQUE, 'id:' .. holder) or '', 2, 2) == 'c'
    victim = holder
    if is_held or is_canvas then
      victim = redis.call('HGET', q .. UNIQUE, 'next:' .. m.key)
    end
  end
  local replaced = victim and redis.call('HGET', q .. PAYLOAD, victim)
  local name = store(q, m)
  -- The message of a task that runs, and publishes itself once more (a retry), takes the key along; but only by the lease that
  -- holds the message which has it: where the publisher's was lost, or has published a retry before, another runs under the key.
  -- The id belongs to it, since all leases of a claim have one token, and a task may hold its message and its retry by one claim.
  local lease = m.mode == 'continue' and is_held and string.match(redis.call('HGET', q .. HOLDER, holder) or '', '^%d+')
  local continues = lease and lease .. ':' .. holder == m.lease
  if not holder or victim == holder or continues then
    give_key(q, m.key, name, m.about)
    place(q, lane, name, m.due, m.step)
  else
    follow(q, m.key, name, m.about, m.due, m.step)
    if m.mode == 'replace' then
      redis.call('HSET', q .. UNIQUE, 'next:' .. m.key, name)
    end
  end
  if replaced then
    local other = base_name(q, victim)
    lift(q, victim, false)
    forget(q, {victim})
    redis.call('HSET', q .. UNIQUE, 'was:' .. name, other .. '\0' .. replaced)
    return 'replaced', name, other, replaced
  end
  return redis.call('HEXISTS', q .. UNIQUE, 'due:' .. name) == 1 and 'follows' or 'added', name
end
