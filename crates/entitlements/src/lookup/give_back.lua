--[[
  Gives the right to ask about a user back, unless somebody else has it by now.

  KEYS  1 asking
  ARGV  1 holder
]]
if redis.call('GET', KEYS[1]) == holder then redis.call('DEL', KEYS[1]) end
return redis.status_reply('OK')
