-- The end of a delivery that is the first of its lane.
local call = redis.call

-- Ends it, and lets the next of its lane be tried. `list` is that of ended ones, of which at most
-- `kept_max` are kept.
local function end_delivery(id, lane, state, due, waiting, list, kept_max)
  local key, lane_key = delivery_prefix .. id, lane_prefix .. lane
  call('LPOP', lane_key)
  call('ZREM', waiting, id)
  call('HSET', key, 'state', state, 'ended_at', now)
  call('EXPIRE', key, kept_s)
  call('ZADD', list, now, id)
  if call('EXISTS', lane_key) == 1 then
    call('ZADD', due, now, lane)
  else
    call('ZREM', due, lane)
  end
  call('ZREMRANGEBYSCORE', list, '-inf', string.format('%.0f', tonumber(now) - tonumber(kept_s) * 1000))
  local n_many = call('ZCARD', list) - kept_max
  if n_many <= 0 then return end
  for _, old in ipairs(call('ZRANGE', list, 0, n_many - 1)) do
    call('DEL', delivery_prefix .. old)
    call('ZREM', list, old)
  end
end

-- How many are kept, which is also what the key document says.
local DONE_MAX, FAILED_MAX = 1000, 10000
