--[[
  Remembers a change.

  KEYS  1 audit
  ARGV  1 change   2 audit_max
]]
redis.call('LPUSH', KEYS[1], change)
redis.call('LTRIM', KEYS[1], 0, audit_max - 1)
return redis.status_reply('OK')
