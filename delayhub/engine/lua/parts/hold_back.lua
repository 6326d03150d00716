-- hold_back(q, due): of the due {id, score, …}, puts off those that wait for their unique key; returns the others.
local function hold_back(q, due)
  local others = {}
  for i = 1, #due, 2 do
    local key = redis.call('HEXISTS', q .. UNIQUE, 'due:' .. due[i]) == 1 and key_of(q, due[i])
    if key then
      holder_of(q, key) -- which passes the key on where the one that has it has expired
    end
    local score = key and string.match(redis.call('HGET', q .. UNIQUE, 'due:' .. due[i]) or '', '^%d+')
    if score then
      put_off(q, due[i], score)
    else
      others[#others + 1], others[#others + 2] = due[i], due[i + 1]
    end
  end
  return others
end
