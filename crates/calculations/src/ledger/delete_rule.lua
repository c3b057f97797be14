--[[
  Deletes a rule and what is known of its state.

  KEYS  1 rule   2 state   3 rules   4 interval_rules
  ARGV  1 name
]]
local call = redis.call
call('DEL', KEYS[1], KEYS[2])
call('SREM', KEYS[3], name)
call('SREM', KEYS[4], name)
return 1
