-- The limits of tasks and flow keys that are in force, as far as they were read: for each queue, name → {interval, next, most,
-- flying}, or false. `next`: when the next may start, in µs, by what was started before (GCRA with a burst of one). `most`: how
-- many may run at once, or nil; `flying`: how many do. All keys of a task have one limit, and each has its own `next`.
local limits_of_queue = {}
local function read_limits(q, names)
  local known, fields = limits_of_queue[q], {}
  for i, name in ipairs(names) do
    local _, of_each_key = task_of_key(name)
    fields[i] = of_each_key or name
  end
  for i, value in ipairs(#names > 0 and redis.call('HMGET', q .. LIMITED, unpack(fields)) or {}) do
    local name, interval, next_at, most = names[i], string.match(value or '', '^(%d+):(%d+):?(%d*)$')
    known[name] = interval and {interval = tonumber(interval), next = tonumber(next_at), most = tonumber(most)} or false
    if interval and fields[i] ~= name and tonumber(interval) > 0 then
      local arrival = tonumber(redis.call('GET', q .. KEY .. name .. KEY_TAT) or 0)
      known[name].next = math.min(arrival, now_us + tonumber(interval)) -- the limit may have changed
    end
    if most and most ~= '' then
      known[name].flying = tonumber(redis.call('HGET', q .. AT_ONCE, name) or 0)
    end
  end
end

-- limits_of(q): what was read of the queue's limits.
local function limits_of(q)
  limits_of_queue[q] = limits_of_queue[q] or {}
  return limits_of_queue[q]
end

-- limit_of(q, name): the limit of a task or flow key, or false.
local function limit_of(q, name)
  local known = limits_of(q)
  if known[name] == nil then
    read_limits(q, {name})
  end
  return known[name]
end

-- tasks_of(q, payloads): of each payload its task, or false, and the names of the flow keys, by number; their limits are
-- read then.
local function tasks_of(q, payloads)
  local tasks, keys, asked, known = {}, {}, {}, limits_of(q)
  for i, payload in ipairs(payloads) do
    local task, key = nil, nil
    if payload then
      task, key = task_of(payload)
    end
    tasks[i], keys[i] = task or false, key
    if task and known[task] == nil then
      asked[#asked + 1], known[task] = task, false
    end
    if key and known[key] == nil then
      asked[#asked + 1], known[key] = key, false
    end
  end
  read_limits(q, asked)
  return tasks, keys
end
