--[[
  Ends calculating everything about a key afresh, unless another has taken over.

  KEYS  1 head   2 changes
  ARGV  1 builder   2 built   3 message
        Without built, nothing was changed: the work was given up.
  Returns 1, or 0 when another has taken over.
]]
--- @include "publish"
local call = redis.call
if call('HGET', KEYS[1], 'builder') ~= builder then return 0 end
call('HDEL', KEYS[1], 'builder', 'builder_at')
if built ~= '' then
  call('HSET', KEYS[1], 'built', built)
  call('HINCRBY', KEYS[1], 'version', 1)
  publish(KEYS[2], message)
end
return 1
