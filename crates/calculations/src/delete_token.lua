--[[
  Takes a project's token away.

  KEYS  1 token   2 tokens
  ARGV  1 project   2 digest
  Returns 1, or 0 when the project has another by now.
]]
local call = redis.call
if call('HGET', KEYS[2], project) ~= digest then return 0 end
call('DEL', KEYS[1])
call('HDEL', KEYS[2], project)
return 1
