--[[
  Writes a key, to see whether the store runs scripts and takes writes.

  KEYS  1 probe
  ARGV  1 now   2 ttl_ms
  Returns 1.
]]
redis.call('SET', KEYS[1], now, 'PX', ttl_ms)
return 1
