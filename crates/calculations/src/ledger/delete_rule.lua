--[[
  Deletes a rule and what is known of its state.

  KEYS  1 rule   2 state   3 rules   4 interval_rules
  ARGV  1 name
]]
local call = redis.call
call('DEL', KEYS[1], KEYS[2])
call('SREM', KEYS[3], ARGV[1])
call('SREM', KEYS[4], ARGV[1])
return 1
