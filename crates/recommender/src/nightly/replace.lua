--[[
  Writes what has changed in a hash that is made anew each night.

  KEYS  1 hash   2 lengths
  ARGV  1 table_name   2 length   3 n_set   4 values...
        Fields and values to set, then fields to delete. Without a table_name, no length is written.
  Returns nothing of interest.
]]
local hash, lengths = KEYS[1], KEYS[2]

local last = VALUES_AT - 1 + 2 * tonumber(n_set)
for at = VALUES_AT, last, 2 do redis.call('HSET', hash, ARGV[at], ARGV[at + 1]) end
for at = last + 1, #ARGV do redis.call('HDEL', hash, ARGV[at]) end
if table_name ~= '' then redis.call('HSET', lengths, table_name, length) end
return redis.status_reply('OK')
