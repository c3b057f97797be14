--[[
  Acknowledges or mutes an alert, or takes that back.

  KEYS  1 alert_mutes
  ARGV  1 now_ms   2 alert   3 mute   4 mutes_max   5 kept_s
        An empty mute takes back what was there.
  Those that have ended leave.
  Returns ok, NONE when there was nothing to take back, or FULL when there are as many as may be.
]]
if mute == '' then
  return redis.call('HDEL', KEYS[1], alert) == 1 and 'ok' or 'NONE'
end
local n_mutes = 1
local stored = redis.call('HGETALL', KEYS[1])
for at = 1, #stored, 2 do
  local is_json, value = pcall(cjson.decode, stored[at + 1])
  local ends_at = is_json and type(value) == 'table' and tonumber(value.ends_at) or 0
  if ends_at <= tonumber(now_ms) then
    redis.call('HDEL', KEYS[1], stored[at])
  elseif stored[at] ~= alert then
    n_mutes = n_mutes + 1
  end
end
if n_mutes > tonumber(mutes_max) then return 'FULL' end
redis.call('HSET', KEYS[1], alert, mute)
redis.call('EXPIRE', KEYS[1], tonumber(kept_s))
return 'ok'
