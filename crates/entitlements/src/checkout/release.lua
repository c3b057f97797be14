--[[
  Lets go of a checkout that stays open. Who does not hold it changes nothing.

  KEYS  1 session   2 due
  ARGV  1 uid   2 holder   3 last_checked_at   4 next_at
]]
local session, due = KEYS[1], KEYS[2]

if redis.call('HGET', session, 'holder') ~= holder then return redis.status_reply('OK') end
redis.call('HDEL', session, 'holder', 'held_until')
redis.call('HSET', session, 'last_checked_at', last_checked_at)
redis.call('ZADD', due, next_at, uid)
return redis.status_reply('OK')
