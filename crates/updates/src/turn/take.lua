--[[
  Takes the turn, or keeps it for longer if it is the holder's already.

  KEYS  1 turn
  ARGV  1 holder   2 hold_ms
  Returns 1, or 0 while it is somebody else's.
]]
local present = redis.call('GET', KEYS[1])
if present and present ~= holder then return 0 end
redis.call('SET', KEYS[1], holder, 'PX', hold_ms)
return 1
