--[[
  Writes a part of what was calculated afresh, unless another has taken over.

  KEYS  1 head   2 target
  ARGV  1 builder   2 now   3 command   4 values...
  Returns 1, or 0 when another has taken over.
]]
local call = redis.call
if call('HGET', KEYS[1], 'builder') ~= builder then return 0 end
call('HSET', KEYS[1], 'builder_at', now)
call(command, KEYS[2], unpack(ARGV, VALUES_AT))
return 1
