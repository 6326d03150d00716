-- task_of(payload): the task that a message calls, as JSON writes its name, or nil. It is the first header of the first
-- field; messages of earlier releases have their body before. In a JSON string each quote has a backslash before it, so what
-- is looked for is never found in a body. Also the name by which its flow key parks it, where it has one: the next header.
local KEY_MARK = '\\u0000'
local function task_of(payload)
  local name, at = string.match(payload, '^{"headers":{"task":"([^"]+)"()')
  if name then
    if string.byte(payload, at + 2) ~= 120 then -- an x; this is asked of each message, and hardly any other header begins so
      return name
    end
    local key = string.match(payload, '^,"x%-delayhub%-key":"([^"]+)"', at)
    return name, key and name .. KEY_MARK .. key
  end
  local _, at = string.find(payload, ',"headers":{', 1, true)
  return at and string.match(payload, '^[^{}]-"task":"([^"]+)"', at + 1)
end

-- task_of_key(name): the task of the name by which a flow key parks messages, and what it begins with, which stands for the
-- limit of each key; nil where it is the name of a task.
local function task_of_key(name)
  local at = string.find(name, KEY_MARK, 1, true)
  return at and string.sub(name, 1, at - 1), at and string.sub(name, 1, at + #KEY_MARK - 1)
end
