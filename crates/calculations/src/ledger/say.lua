-- What rules say.
local call = redis.call

-- Writes an output event of a kind under the next number.
local function say(counter, prefix, events, kind, fields)
  local number = string.format('%.0f', call('INCR', counter))
  call('HSET', prefix .. number, 'event_type', kind, unpack(fields))
  call('SADD', events, number)
end
