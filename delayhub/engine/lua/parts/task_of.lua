-- task_of(payload): the task that a message calls, as JSON writes its name, or nil. It is the first header of the first field.
-- Also the name by which its flow key parks it, where it has one: the next header.
local KEY_MARK = '\\u0000'
local function task_of(payload)
  local name, at = string.match(payload, '^{"headers":{"task":"([^"]+)"()')
  if not name or string.byte(payload, at + 2) ~= 120 then -- an x; this is asked of each message, and few headers begin so
    return name
  end
  local key = string.match(payload, '^,"x%-delayhub%-key":"([^"]+)"', at)
  return name, key and name .. KEY_MARK .. key
end

-- task_of_key(name): the task of the name by which a flow key parks messages, and what it begins with, which stands for the
-- limit of each key; nil where it is the name of a task.
local function task_of_key(name)
  local at = string.find(name, KEY_MARK, 1, true)
  return at and string.sub(name, 1, at - 1), at and string.sub(name, 1, at + #KEY_MARK - 1)
end
