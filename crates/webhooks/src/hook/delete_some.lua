--[[
  Deletes some of the deliveries of a deleted webhook, and with the last of them the rest of its keys.

  KEYS  1 deleted   2 due   3 health   4 waiting   5 done   6 failed
  ARGV  1 hook   2 delivery_prefix   3 lane_prefix
  Derives delivery(<id>) and lane(<lane>) under the same hash tag.
  Returns 1 when nothing is left, or 0.
]]
local SOME = 500
redis.call('EXISTS', unpack(KEYS))
for at = 4, 6 do
  local ids = redis.call('ZRANGE', KEYS[at], 0, SOME - 1)
  for _, id in ipairs(ids) do
    local lane = redis.call('HGET', delivery_prefix .. id, 'lane')
    if lane then redis.call('DEL', lane_prefix .. lane) end
    redis.call('DEL', delivery_prefix .. id)
    redis.call('ZREM', KEYS[at], id)
  end
  if #ids == SOME then return 0 end
end
redis.call('DEL', KEYS[2], KEYS[3])
redis.call('SREM', KEYS[1], hook)
return 1
