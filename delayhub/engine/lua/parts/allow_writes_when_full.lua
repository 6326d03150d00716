-- allow_writes_when_full(q): a write that changes nothing. After one, Redis lets a script go on writing although its
-- memory is full. The scripts that consumers run need that, since they are what frees memory; and those that set limits.
local function allow_writes_when_full(q)
  redis.call('HDEL', q .. HOLDER, '')
end
