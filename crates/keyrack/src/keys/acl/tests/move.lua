--[[
  Moves a member from one sorted set to another and says so.

  KEYS  1 from   2 to   3 channel
  ARGV  1 member   2 score
  Returns how many members are left behind.
]]
--- @include "publish"

redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
publish(KEYS[3], ARGV[1])
return redis.call('ZCARD', KEYS[1])
