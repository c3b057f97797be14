--[[
  Takes one from an account, after a look at another that it names by itself.

  KEYS  1 from
  Returns what is left.
]]
local derived = string.gsub(KEYS[1], 'giro', 'derived')
redis.call('GET', derived)
return redis.call('INCRBY', KEYS[1], -1)
