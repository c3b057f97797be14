--[[
  Claims deliveries of a webhook that are due: the first of each lane.

  A webhook that fails is asked with one at a time; what has waited for as long as deliveries are tried is given up meanwhile.

  KEYS  1 due   2 health   3 waiting   4 failed
  ARGV  1 now   2 lease_ms   3 max   4 failures_max   5 give_up_ms   6 kept_s   7 delivery_prefix   8 lane_prefix
  Derives delivery(<id>) and lane(<lane>) under the same hash tag.
  Returns for each its id, lane, attempt, number of tries since it was taken, and event.
]]
--- @include "ended"
-- Lanes that are looked at in one call; the next call goes on.
local LANES_MAX = 100

call('EXISTS', KEYS[3], KEYS[4])
local health = call('HMGET', KEYS[2], 'failures', 'paused_until')
local at, leased_until = tonumber(now), string.format('%.0f', tonumber(now) + tonumber(lease_ms))
if (tonumber(health[2] or nil) or 0) > at then return {} end
local fails = (tonumber(health[1] or nil) or 0) >= tonumber(failures_max)
local most, claimed = fails and 1 or tonumber(max), {}
for _, lane in ipairs(call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, LANES_MAX)) do
  local id = call('LINDEX', lane_prefix .. lane, 0)
  local fields = id and call('HMGET', delivery_prefix .. id, 'event', 'created_at')
  if not id then
    call('ZREM', KEYS[1], lane)
  elseif not fields[1] then
    -- Somebody has deleted it.
    call('LPOP', lane_prefix .. lane)
    call('ZREM', KEYS[3], id)
  elseif fails and (tonumber(fields[2] or nil) or 0) + tonumber(give_up_ms) <= at then
    end_delivery(id, lane, 'failed', KEYS[1], KEYS[3], KEYS[4], FAILED_MAX)
  elseif #claimed < most then
    call('ZADD', KEYS[1], leased_until, lane)
    local attempt = call('HINCRBY', delivery_prefix .. id, 'attempts', 1)
    claimed[#claimed + 1] = { id, lane, attempt, call('HINCRBY', delivery_prefix .. id, 'tries', 1), fields[1] }
  end
end
-- Other servers wait until this one knows whether the receiver is back.
if fails and #claimed > 0 then call('HSET', KEYS[2], 'paused_until', leased_until) end
return claimed
