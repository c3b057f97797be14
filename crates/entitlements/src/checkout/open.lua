--[[
  Remembers a checkout that was started at Stripe.

  KEYS  1 session   2 due   3 open
  ARGV  1 uid   2 user_sub   3 stripe_session_id   4 now   5 expires_at   6 next_at   7 max
  Errors  TOO_MANY_OPEN
]]
local session, due, open = KEYS[1], KEYS[2], KEYS[3]

local count = redis.call('ZCARD', open)
if count >= tonumber(max) then return redis.error_reply('TOO_MANY_OPEN ' .. count) end

redis.call('HSET', session, 'user_sub', user_sub, 'stripe_session_id', stripe_session_id, 'created_at', now,
  'last_checked_at', now, 'expires_at', expires_at)
redis.call('ZADD', due, next_at, uid)
redis.call('ZADD', open, now, uid)
return redis.status_reply('OK')
