--[[
  Stores events that are to be delivered to a webhook.

  KEYS  1 hooks   2 due   3 waiting   4 health
  ARGV  1 hook   2 now   3 waiting_max   4 delivery_prefix   5 lane_prefix   6 values...
        An event is three values: its id, its lane, and the event as JSON.
  Derives delivery(<id>) and lane(<lane>) under the same hash tag.
  Returns 1, or 0 if there is no such webhook.
]]
local call = redis.call
if call('HEXISTS', KEYS[1], hook) == 0 then return 0 end
call('EXISTS', KEYS[2], KEYS[4])
local n_waiting = call('ZCARD', KEYS[3])
local at = VALUES_AT
while ARGV[at] do
  local id, lane, event = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local key = delivery_prefix .. id
  call('EXISTS', lane_prefix .. lane)
  if call('EXISTS', key) == 1 then
    -- Taken before.
  elseif n_waiting >= tonumber(waiting_max) then
    call('HINCRBY', KEYS[4], 'dropped', 1)
  else
    n_waiting = n_waiting + 1
    call('HSET', key, 'event', event, 'lane', lane, 'state', 'waiting', 'created_at', now, 'attempts', 0, 'tries', 0)
    call('ZADD', KEYS[3], now, id)
    call('RPUSH', lane_prefix .. lane, id)
    call('ZADD', KEYS[2], 'NX', now, lane)
  end
  at = at + 3
end
return 1
