--[[
  Gives the turn back, unless it is somebody else's by now.

  KEYS  1 turn
  ARGV  1 holder
  Returns 1, or 0 if it was lost.
]]
if redis.call('GET', KEYS[1]) ~= holder then return 0 end
return redis.call('DEL', KEYS[1])
