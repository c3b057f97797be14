--[[
  Makes sure that a user exists.

  KEYS  1 users   2 audit
  ARGV  1 user_sub   2 now   3 change   4 audit_max
  Returns 1 if the user is new.
]]
if redis.call('ZADD', KEYS[1], 'NX', now, user_sub) == 0 then return 0 end
redis.call('LPUSH', KEYS[2], change)
redis.call('LTRIM', KEYS[2], 0, audit_max - 1)
return 1
