--[[
  Writes what has changed in a hash that is made anew each night.

  KEYS  1 hash   2 lengths
  ARGV  1 table   2 length   3 n_set   4 values...
        Fields and values to set, then fields to delete. Without a table, no length is written.
  Returns nothing of interest.
]]
local hash, lengths = KEYS[1], KEYS[2]

local last = 3 + 2 * tonumber(ARGV[3])
for at = 4, last, 2 do redis.call('HSET', hash, ARGV[at], ARGV[at + 1]) end
for at = last + 1, #ARGV do redis.call('HDEL', hash, ARGV[at]) end
if ARGV[1] ~= '' then redis.call('HSET', lengths, ARGV[1], ARGV[2]) end
return redis.status_reply('OK')
