--[[
  Deletes a key with its values, its results and everything that belongs to them.

  KEYS  1 head   2 dimension_keys   3 changes   4 own...
        own are the names of everything that is stored about the key.
  ARGV  1 key   2 message
  Returns 1, or 0 when there was no such key or somebody is calculating it afresh.
]]
--- @include "publish"
local call = redis.call

if call('HEXISTS', KEYS[1], 'builder') == 1 then return 0 end
local known = call('SREM', KEYS[2], key)
for at = 4, #KEYS do known = known + call('DEL', KEYS[at]) end
known = known + call('DEL', KEYS[1])
if known == 0 then return 0 end
publish(KEYS[3], message)
return 1
