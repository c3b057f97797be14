--[[
  Takes a file out, so that nobody deletes it.

  KEYS  1 purgatory   2 claims   3 failures
  ARGV  1 member   2 now
  Errors  BEING_DELETED  NOT_THERE
]]
local claimed_until = redis.call('ZSCORE', KEYS[2], ARGV[1])
if claimed_until and tonumber(claimed_until) > tonumber(ARGV[2]) then
  return redis.error_reply('BEING_DELETED until ' .. claimed_until)
end
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return redis.error_reply('NOT_THERE in purgatory') end
redis.call('HDEL', KEYS[3], ARGV[1])
return redis.status_reply('OK')
