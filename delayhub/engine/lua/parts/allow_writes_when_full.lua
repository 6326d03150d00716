-- allow_writes_when_full(q): a write that changes nothing. After one, Redis lets a script go on writing although its
-- memory is full; the scripts that consumers run need that, since they are what frees memory.
local function allow_writes_when_full(q)
  redis.call('HDEL', q .. HOLDER, '')
end
