--[[
  Notes how often the process behind a trace will report.

  KEYS  1 trace
  ARGV  1 every
  Errors  TRACE_NOT_FOUND
]]
local trace = KEYS[1]

if redis.call('HEXISTS', trace, 'current_step') == 0 then
  return redis.error_reply('TRACE_NOT_FOUND there is none')
end
redis.call('HSET', trace, 'reports_every', every)
return redis.status_reply('OK')
