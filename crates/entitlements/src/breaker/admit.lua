--[[
  Says whether a request may be sent to the source.

  KEYS  1 errors   2 trial
  ARGV  1 now   2 window   3 max   4 gap   5 trial_ttl
  Returns granted, trial for a request that is to find out whether an outage is over, or refused.
]]
local errors, trial = KEYS[1], KEYS[2]
local now_text, now, window, max = now, tonumber(now), tonumber(window), tonumber(max)

redis.call('ZREMRANGEBYSCORE', errors, '-inf', string.format('%.6f', now - window))
if redis.call('ZCARD', errors) >= max then
  -- Other programs count failures too, and do not know of trials.
  redis.call('SET', trial, now_text, 'EX', trial_ttl)
  return 'refused'
end

local next_at = tonumber(redis.call('GET', trial) or '')
if not next_at then return 'granted' end
if now < next_at then return 'refused' end
redis.call('SET', trial, string.format('%.6f', now + tonumber(gap)), 'EX', trial_ttl)
return 'trial'
