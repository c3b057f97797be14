--[[
  Gives an upload more time, unless a sweep was faster.

  KEYS  1 purgatory   2 claims
  ARGV  1 member   2 now   3 held_until
  Errors  NOT_THERE
]]
local claimed_until = redis.call('ZSCORE', KEYS[2], member)
if claimed_until and tonumber(claimed_until) > tonumber(now) then return redis.error_reply('NOT_THERE any more') end
local at = redis.call('ZSCORE', KEYS[1], member)
if not at then return redis.error_reply('NOT_THERE any more') end
if tonumber(at) < tonumber(held_until) then redis.call('ZADD', KEYS[1], held_until, member) end
return redis.status_reply('OK')
