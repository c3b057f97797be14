--[[
  Writes a key, and one beside it whose name it derives.

  KEYS  1 balance
  ARGV  1 amount
  Returns what was in both, and how many keys it was given.
]]
local beside = KEYS[1] .. ':beside'
local before = redis.call('GETSET', KEYS[1], amount)
return { before or '', redis.call('GETSET', beside, amount) or '', #KEYS }
