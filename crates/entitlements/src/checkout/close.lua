--[[
  Forgets a checkout that has ended. Who does not hold it changes nothing.

  KEYS  1 session   2 due   3 open
  ARGV  1 uid   2 holder
]]
local session, due, open = KEYS[1], KEYS[2], KEYS[3]

if redis.call('HGET', session, 'holder') ~= holder then return redis.status_reply('OK') end
redis.call('DEL', session)
redis.call('ZREM', due, uid)
redis.call('ZREM', open, uid)
return redis.status_reply('OK')
