--[[
  Moves a member from one sorted set to another and says so.

  KEYS  1 from   2 to   3 channel
  ARGV  1 member   2 score
  Returns how many members are left behind.
]]
--- @include "publish"

redis.call('ZREM', KEYS[1], member)
redis.call('ZADD', KEYS[2], score, member)
publish(KEYS[3], member)
return redis.call('ZCARD', KEYS[1])
