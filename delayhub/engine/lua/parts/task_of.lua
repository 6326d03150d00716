-- task_of(payload): the task that a message calls, as JSON writes its name, or nil. It is the first header of the first
-- field; messages of earlier releases have their body before. In a JSON string each quote has a backslash before it, so what
-- is looked for is never found in a body.
local function task_of(payload)
  local name = string.match(payload, '^{"headers":{"task":"([^"]+)"')
  if name then
    return name
  end
  local _, at = string.find(payload, ',"headers":{', 1, true)
  return at and string.match(payload, '^[^{}]-"task":"([^"]+)"', at + 1)
end
