--[[
  Raises the count of a user's traces in a month to what the user's own count says.

  KEYS  1 month
  ARGV  1 user_sub   2 traces
  Returns the count.
]]
local counted = tonumber(redis.call('HGET', KEYS[1], user_sub)) or 0
if counted >= tonumber(traces) then return counted end
redis.call('HSET', KEYS[1], user_sub, traces)
return tonumber(traces)
