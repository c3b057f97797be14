--[[
  Raises the count of a user's traces in a month to what the user's own count says.

  KEYS  1 month
  ARGV  1 user_sub   2 traces
  Returns the count.
]]
local counted = tonumber(redis.call('HGET', KEYS[1], ARGV[1])) or 0
if counted >= tonumber(ARGV[2]) then return counted end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return tonumber(ARGV[2])
