--[[
  Deletes a user's token.

  KEYS  1 tokens   2 token   3 audit
  ARGV  1 user_sub   2 uid   3 change   4 audit_max
  Errors  NO_SUCH_TOKEN
]]
if redis.call('HGET', KEYS[2], 'user_sub') ~= user_sub then return redis.error_reply('NO_SUCH_TOKEN the user has none of that name') end
redis.call('DEL', KEYS[2])
redis.call('ZREM', KEYS[1], uid)
redis.call('LPUSH', KEYS[3], change)
redis.call('LTRIM', KEYS[3], 0, audit_max - 1)
return redis.status_reply('OK')
