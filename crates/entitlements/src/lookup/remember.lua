--[[
  Merges an answer of the source into what is known about a user, and renews the TTL of all of it.

  KEYS  1 entitlements
  ARGV  1 ttl   2 checked_at   3 assumed   4 values...
        The values are identifiers and JSON in turn.
        What was checked later stays, unless it was only assumed: an assumption lasts so many seconds.
]]
local entitlements, checked_at, assumed = KEYS[1], tonumber(checked_at), tonumber(assumed)

local function is_later(json)
  if not json then return false end
  local ok, value = pcall(cjson.decode, json)
  if not ok or type(value) ~= 'table' or type(value.checked_at) ~= 'number' then return false end
  if type(value.expires_at) == 'number' and value.is_active == true
    and math.abs(value.expires_at - value.checked_at - assumed) < 0.001 then
    return false
  end
  return value.checked_at > checked_at
end

for at = VALUES_AT, #ARGV, 2 do
  if not is_later(redis.call('HGET', entitlements, ARGV[at])) then
    redis.call('HSET', entitlements, ARGV[at], ARGV[at + 1])
  end
end
redis.call('EXPIRE', entitlements, ttl)
return redis.status_reply('OK')
