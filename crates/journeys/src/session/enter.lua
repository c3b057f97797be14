--[[
  Counts a session among those of its user, before it starts and while it goes on. It lies elsewhere on a cluster.

  KEYS  1 sessions
  ARGV  1 member   2 now   3 lives_s   4 sessions_max
  Errors  TOO_MANY_SESSIONS
]]
--- @include "quota"
local now_text, now, lives = now, tonumber(now), tonumber(lives_s)
local gone_at = string.format('%.6f', now + lives)
if not enter_quota(KEYS[1], member, now_text, gone_at, tonumber(sessions_max), lives * 1000) then
  return redis.error_reply('TOO_MANY_SESSIONS ' .. quota_opens_in(KEYS[1], now))
end
return redis.status_reply('OK')
