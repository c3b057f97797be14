--[[
  Makes a rule under the next number.

  KEYS  1 rule_counter   2 rules   3 interval_rules
  ARGV  1 tag   2 prefix   3 fields...
  Derives rule(<number>) under the same hash tag. The sets hold documented names, without the tag.
  Returns the number.
]]
local call = redis.call
local number = string.format('%.0f', call('INCR', KEYS[1]))
local name = prefix .. number
call('HSET', tag .. name, unpack(ARGV, FIELDS_AT))
call('SADD', KEYS[2], name)
call('SADD', KEYS[3], name)
return number
