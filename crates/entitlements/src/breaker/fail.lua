--[[
  Counts a failure of the source, and forgets those that are too old to count.

  KEYS  1 errors   2 trial
  ARGV  1 now   2 id   3 window   4 max   5 gap   6 trial_ttl
]]
local errors, trial = KEYS[1], KEYS[2]
local now_text, now, window, max = now, tonumber(now), tonumber(window), tonumber(max)

redis.call('ZREMRANGEBYSCORE', errors, '-inf', string.format('%.6f', now - window))
redis.call('ZADD', errors, now_text, id)
-- After a trial that failed, or a failure too many, one request at a time has to show that it is over.
if redis.call('EXISTS', trial) == 1 or redis.call('ZCARD', errors) >= max then
  redis.call('SET', trial, string.format('%.6f', now + tonumber(gap)), 'EX', trial_ttl)
end
return redis.status_reply('OK')
