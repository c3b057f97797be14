--[[
  Deletes a webhook. What waits for it is deleted by delete_some.

  KEYS  1 hooks   2 secrets   3 deleted
  ARGV  1 hook
  Returns 1, or 0 if there is no such webhook.
]]
redis.call('EXISTS', KEYS[2], KEYS[3])
if redis.call('HDEL', KEYS[1], hook) == 0 then return 0 end
redis.call('HDEL', KEYS[2], hook)
redis.call('SADD', KEYS[3], hook)
return 1
