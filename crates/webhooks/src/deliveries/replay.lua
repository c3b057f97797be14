--[[
  Puts ended deliveries behind what waits in their lanes.

  KEYS  1 due   2 waiting   3 done   4 failed   5 hooks
  ARGV  1 now   2 hook   3 delivery_prefix   4 lane_prefix   5 ids...
  Derives delivery(<id>) and lane(<lane>) under the same hash tag.
  Returns for each: ok, waiting if it has not ended, or gone.
]]
local call = redis.call
call('EXISTS', unpack(KEYS))
-- Of a webhook that is being deleted, nothing is put back.
local is_known = call('HEXISTS', KEYS[5], hook) == 1
local words = {}
for at = IDS_AT, #ARGV do
  local id, key = ARGV[at], delivery_prefix .. ARGV[at]
  local fields = call('HMGET', key, 'state', 'lane')
  local state, lane = fields[1], fields[2]
  if not (lane and is_known) then
    words[#words + 1] = 'gone'
  elseif state == 'waiting' then
    words[#words + 1] = 'waiting'
  else
    call('EXISTS', lane_prefix .. lane)
    call('HSET', key, 'state', 'waiting', 'created_at', now, 'tries', 0)
    call('HDEL', key, 'ended_at')
    call('PERSIST', key)
    call('ZREM', KEYS[3], id)
    call('ZREM', KEYS[4], id)
    call('ZADD', KEYS[2], now, id)
    call('RPUSH', lane_prefix .. lane, id)
    call('ZADD', KEYS[1], 'NX', now, lane)
    words[#words + 1] = 'ok'
  end
end
return words
