--[[
  Lets go of a checkout that stays open. Who does not hold it changes nothing.

  KEYS  1 session   2 due
  ARGV  1 uid   2 holder   3 last_checked_at   4 next_at
]]
local session, due = KEYS[1], KEYS[2]

if redis.call('HGET', session, 'holder') ~= ARGV[2] then return redis.status_reply('OK') end
redis.call('HDEL', session, 'holder', 'held_until')
redis.call('HSET', session, 'last_checked_at', ARGV[3])
redis.call('ZADD', due, ARGV[4], ARGV[1])
return redis.status_reply('OK')
