-- drain(q): a write that changes nothing. After one, Redis lets a script write on although its memory is full, and what
-- consumers do is what frees it.
local function drain(q)
  redis.call('HDEL', q .. HOLDER, '')
end
