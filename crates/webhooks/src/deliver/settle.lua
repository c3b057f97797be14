--[[
  Stores what came of a delivery: done, to be tried again, or given up.

  KEYS  1 due   2 health   3 waiting   4 done   5 failed
  ARGV  1 now   2 id   3 lane   4 attempt   5 status   6 problem   7 retry_at   8 failures_max   9 chance   10 pause_ms_min
        11 pause_ms_max   12 give_up_ms   13 kept_s   14 delivery_prefix   15 lane_prefix
        problem is empty if the receiver took the event; status is empty if there was no answer; chance is from 0 to 1.
  Derives delivery(<id>) and lane(<lane>) under the same hash tag.
  Returns 1, or 0 if somebody else has tried it since, or it is gone.
]]
--- @include "ended"
call('EXISTS', unpack(KEYS))
local key = delivery_prefix .. id
local fields = call('HMGET', key, 'attempts', 'created_at')
if fields[1] ~= attempt or call('LINDEX', lane_prefix .. lane, 0) ~= id then return 0 end

call('HSET', key, 'tried_at', now)
if status == '' then call('HDEL', key, 'status') else call('HSET', key, 'status', status) end
if problem == '' then
  call('HDEL', key, 'error')
  call('HSET', KEYS[2], 'failures', 0, 'delivered_at', now)
  call('HDEL', KEYS[2], 'paused_until')
  end_delivery(id, lane, 'done', KEYS[1], KEYS[3], KEYS[4], DONE_MAX)
  return 1
end

call('HSET', key, 'error', problem)
local over = call('HINCRBY', KEYS[2], 'failures', 1) - tonumber(failures_max)
if over >= 0 then
  local pause = math.min(tonumber(pause_ms_min) * 2 ^ math.min(over, 20), tonumber(pause_ms_max))
  call('HSET', KEYS[2], 'paused_until', string.format('%.0f', tonumber(now) + pause * (1 - 0.2 * tonumber(chance))))
end
if (tonumber(fields[2] or nil) or 0) + tonumber(give_up_ms) <= tonumber(now) then
  end_delivery(id, lane, 'failed', KEYS[1], KEYS[3], KEYS[5], FAILED_MAX)
else
  call('ZADD', KEYS[1], retry_at, lane)
end
return 1
