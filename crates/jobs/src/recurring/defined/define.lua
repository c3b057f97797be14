--[[
  Stores the definition of a recurring job, if the store still has what its writer read.

  KEYS  1 defined   2 due   3 version   4 events
  ARGV  1 name   2 held   3 fields   4 next_run   5 max
        The text that the writer read is held, empty for a new job. The fields are JSON without its first brace, behind which
        the version is put. The next run is a score, keep, or empty for none.
  Returns the version.
  Errors  CHANGED  TOO_MANY
]]
--- @include "publish"
local defined, due, version, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local stored = redis.call('HGET', defined, name) or ''
if stored ~= held then return redis.error_reply('CHANGED ' .. (stored == '' and 'gone' or 'other')) end
if stored == '' and redis.call('HLEN', defined) >= tonumber(max) then
  return redis.error_reply('TOO_MANY ' .. max)
end

local given = string.format('%.0f', redis.call('INCR', version))
redis.call('HSET', defined, name, '{"version":' .. given .. ',' .. fields)
if next_run == '' then
  redis.call('ZREM', due, name)
elseif next_run ~= 'keep' then
  redis.call('ZADD', due, next_run, name)
end
publish(events, 'changed')
return given
