-- What rules say.
local call = redis.call

-- How many of the latest output events are listed for those who hand them on.
local SAID_MAX = 10000

-- Writes an output event of a kind under the next number.
local function say(counter, prefix, events, kind, fields)
  local number = string.format('%.0f', call('INCR', counter))
  call('HSET', prefix .. number, 'event_type', kind, unpack(fields))
  call('SADD', events, number)
  call('RPUSH', tag .. 'list:said', number .. ' ' .. kind .. ' ' .. cjson.encode(fields))
  call('LTRIM', tag .. 'list:said', -SAID_MAX, -1)
end
