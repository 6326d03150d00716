-- now_us and now: Redis' own clock, in µs and ms, so that the clocks of clients don't matter.
local clock = redis.call('TIME')
local now_us = clock[1] * 1000000 + clock[2]
local now = (now_us - now_us % 1000) / 1000
