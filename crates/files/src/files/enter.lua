--[[
  Enters a file, to be deleted unless it is taken out in time.

  KEYS  1 purgatory   2 claims
  ARGV  1 member   2 now   3 at
  Errors  BEING_DELETED
]]
local claimed_until = redis.call('ZSCORE', KEYS[2], member)
if claimed_until and tonumber(claimed_until) > tonumber(now) then
  return redis.error_reply('BEING_DELETED until ' .. claimed_until)
end
redis.call('ZADD', KEYS[1], at, member)
return redis.status_reply('OK')
