--[[
  Gives a user's token another name.

  KEYS  1 token   2 audit
  ARGV  1 user_sub   2 name   3 change   4 audit_max
  Errors  NO_SUCH_TOKEN
]]
if redis.call('HGET', KEYS[1], 'user_sub') ~= user_sub then return redis.error_reply('NO_SUCH_TOKEN the user has none of that name') end
redis.call('HSET', KEYS[1], 'name', name)
redis.call('LPUSH', KEYS[2], change)
redis.call('LTRIM', KEYS[2], 0, audit_max - 1)
return redis.status_reply('OK')
