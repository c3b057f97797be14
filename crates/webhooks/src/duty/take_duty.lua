--[[
  Takes a duty, or keeps it if it is the server's already.

  KEYS  1 duty
  ARGV  1 server   2 hold_s
  Returns 1, or 0 while it is another server's.
]]
local present = redis.call('GET', KEYS[1])
if present and present ~= server then return 0 end
redis.call('SET', KEYS[1], server, 'EX', hold_s)
return 1
