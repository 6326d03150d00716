-- now_us and now: Redis' own clock, in µs and ms, so that the clocks of clients don't matter.
local clock = redis.call('TIME')
local now_us = tonumber(clock[1]) * 1000000 + tonumber(clock[2])
local now = math.floor(now_us / 1000)
