--[[
  Forgets entries that were taken, and keeps those that were refused where people can look at them.

  KEYS  1 taken   2 refused
  ARGV  1 count   2 refused_max   3 refused...
        The first so many of what was taken are done with.
  Returns 1, or 0 when others have put the entries back meanwhile and will see to them.
]]
local call = redis.call
if call('LLEN', KEYS[1]) < tonumber(count) then return 0 end
call('LTRIM', KEYS[1], count, -1)
for at = REFUSED_AT, #ARGV do call('RPUSH', KEYS[2], ARGV[at]) end
if #ARGV >= REFUSED_AT then call('LTRIM', KEYS[2], -tonumber(refused_max), -1) end
return 1
