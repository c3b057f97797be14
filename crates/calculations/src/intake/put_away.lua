--[[
  Forgets entries that were taken, and keeps those that were refused where people can look at them.

  KEYS  1 taken   2 refused
  ARGV  1 count   2 refused_max   3 refused...
        The first so many of what was taken are done with.
  Returns 1, or 0 when others have put the entries back meanwhile and will see to them.
]]
local call = redis.call
if call('LLEN', KEYS[1]) < tonumber(ARGV[1]) then return 0 end
call('LTRIM', KEYS[1], ARGV[1], -1)
for at = 3, #ARGV do call('RPUSH', KEYS[2], ARGV[at]) end
if #ARGV > 2 then call('LTRIM', KEYS[2], -tonumber(ARGV[2]), -1) end
return 1
