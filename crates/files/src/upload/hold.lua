--[[
  Gives an upload more time, unless a sweep was faster.

  KEYS  1 purgatory   2 claims
  ARGV  1 member   2 now   3 until
  Errors  NOT_THERE
]]
local claimed_until = redis.call('ZSCORE', KEYS[2], ARGV[1])
if claimed_until and tonumber(claimed_until) > tonumber(ARGV[2]) then return redis.error_reply('NOT_THERE any more') end
local at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not at then return redis.error_reply('NOT_THERE any more') end
if tonumber(at) < tonumber(ARGV[3]) then redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1]) end
return redis.status_reply('OK')
