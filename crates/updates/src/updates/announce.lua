--[[
  Says that a repository has something new, and remembers that it was said.

  KEYS  1 updates   2 announced
  ARGV  1 message   2 at   3 max
  Returns how many heard it.
]]
--- @include "publish"
local heard = publish(KEYS[1], message)
redis.call('LPUSH', KEYS[2], string.format('{"at": %s, "heard": %d}', at, heard))
redis.call('LTRIM', KEYS[2], 0, max - 1)
return heard
