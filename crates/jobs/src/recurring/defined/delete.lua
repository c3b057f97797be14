--[[
  Deletes the definition of a recurring job, if the store still has what the caller read.

  KEYS  1 defined   2 due   3 events
  ARGV  1 name   2 held
  Returns 1 if it is gone now, 0 if it was changed.
]]
--- @include "publish"
local defined, due, events = KEYS[1], KEYS[2], KEYS[3]

if redis.call('HGET', defined, name) ~= held then return 0 end
redis.call('HDEL', defined, name)
redis.call('ZREM', due, name)
publish(events, 'changed')
return 1
