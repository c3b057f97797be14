--[[
  Puts learned weights in force, and keeps what was found with them.

  KEYS  1 weights   2 evaluation
  ARGV  1 found   2 values...
        found is the evaluation as JSON; values are signals, each followed by its weight.
  Returns nothing of interest.
]]
local weights, evaluation = KEYS[1], KEYS[2]

redis.call('DEL', weights)
for at = VALUES_AT, #ARGV, 2 do redis.call('HSET', weights, ARGV[at], ARGV[at + 1]) end
redis.call('SET', evaluation, found)
return redis.status_reply('OK')
