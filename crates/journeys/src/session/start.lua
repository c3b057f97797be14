--[[
  Starts a session.

  KEYS  1 journey   2 session
  ARGV  1 user_sub   2 now   3 ttl_s
  Errors  NOT_FOUND
]]
if redis.call('EXISTS', KEYS[1]) == 0 then return redis.error_reply('NOT_FOUND no such journey') end
redis.call('HSET', KEYS[2], 'user_sub', user_sub, 'created_at', now)
redis.call('EXPIRE', KEYS[2], ttl_s)
return redis.status_reply('OK')
