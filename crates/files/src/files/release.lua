--[[
  Takes a file out, so that nobody deletes it.

  KEYS  1 purgatory   2 claims   3 failures
  ARGV  1 member   2 now
  Errors  BEING_DELETED  NOT_THERE
]]
local claimed_until = redis.call('ZSCORE', KEYS[2], member)
if claimed_until and tonumber(claimed_until) > tonumber(now) then
  return redis.error_reply('BEING_DELETED until ' .. claimed_until)
end
if redis.call('ZREM', KEYS[1], member) == 0 then return redis.error_reply('NOT_THERE in purgatory') end
redis.call('HDEL', KEYS[3], member)
return redis.status_reply('OK')
