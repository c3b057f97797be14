--[[
  Holds a checkout, so that nobody else finishes it meanwhile.

  KEYS  1 session   2 due
  ARGV  1 now   2 holder   3 held_until   4 uid   5 user_sub   6 only_due
        An empty user_sub is anybody.
  Returns the checkout's fields.
  Errors  NO_SUCH_CHECKOUT   BUSY_CHECKOUT   NOT_DUE
]]
local session, due, now, only_due = KEYS[1], KEYS[2], tonumber(now), only_due == '1'

local owner = redis.call('HGET', session, 'user_sub')
if not owner or (user_sub ~= '' and owner ~= user_sub) then
  return redis.error_reply('NO_SUCH_CHECKOUT it is not there')
end
local before = tonumber(redis.call('HGET', session, 'held_until') or '')
if before and before > now then return redis.error_reply('BUSY_CHECKOUT it is held') end
-- Another sweep may have looked at it just now.
local due_at = tonumber(redis.call('ZSCORE', due, uid) or '')
if only_due and due_at and due_at > now then return redis.error_reply('NOT_DUE it was looked at') end

redis.call('HSET', session, 'holder', holder, 'held_until', held_until)
return redis.call('HGETALL', session)
