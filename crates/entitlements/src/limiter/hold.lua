--[[
  Counts a limit among those of its user, for a cluster, where the two are in different slots.

  KEYS  1 held
  ARGV  1 now_ms   2 member   3 until_ms   4 quota
  Errors  TOO_MANY_LIMITS
]]
--- @include "quota"
local now = tonumber(now_ms)
if not enter_quota(KEYS[1], member, now, until_ms, tonumber(quota), math.max(tonumber(until_ms) - now, 1)) then
  return redis.error_reply('TOO_MANY_LIMITS ' .. quota_opens_in(KEYS[1], now))
end
return redis.status_reply('OK')
