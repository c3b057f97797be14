--[[
  Puts back what a worker had taken, unless it lives.

  KEYS  1 alive   2 taken   3 hot   4 workers
  ARGV  1 worker   2 forget_before
  Returns how many entries went back to the head of the queue, in their order. A worker whose last heartbeat is not
  after forget_before is no longer listed.
]]
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end

local rescued = 0
while redis.call('LMOVE', KEYS[2], KEYS[3], 'RIGHT', 'LEFT') do rescued = rescued + 1 end

local beat_at = tonumber(redis.call('ZSCORE', KEYS[4], worker))
if beat_at and beat_at <= tonumber(forget_before) then redis.call('ZREM', KEYS[4], worker) end
return rescued
