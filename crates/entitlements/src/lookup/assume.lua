--[[
  Takes a user to be entitled for a while, where nothing has become known meanwhile.

  KEYS  1 entitlements
  ARGV  1 ttl_ms   2 values...
        The values are an identifier, the JSON that was seen there before (empty for none) and the JSON of the assumption in turn.
        What else is known stays as long as the assumption at least.
  Returns the JSON that is in force, for each identifier.
]]
local entitlements, ttl_ms = KEYS[1], tonumber(ttl_ms)

local in_force = {}
for at = VALUES_AT, #ARGV, 3 do
  local now_there = redis.call('HGET', entitlements, ARGV[at]) or ''
  if now_there == ARGV[at + 1] then
    redis.call('HSET', entitlements, ARGV[at], ARGV[at + 2])
    now_there = ARGV[at + 2]
  end
  in_force[#in_force + 1] = now_there
end
if redis.call('PTTL', entitlements) < ttl_ms then redis.call('PEXPIRE', entitlements, ttl_ms) end
return in_force
