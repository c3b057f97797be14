--[[
  Writes a part of what was calculated afresh, unless another has taken over.

  KEYS  1 head   2 target
  ARGV  1 builder   2 now   3 command   4 values...
  Returns 1, or 0 when another has taken over.
]]
local call = redis.call
if call('HGET', KEYS[1], 'builder') ~= ARGV[1] then return 0 end
call('HSET', KEYS[1], 'builder_at', ARGV[2])
call(ARGV[3], KEYS[2], unpack(ARGV, 4))
return 1
