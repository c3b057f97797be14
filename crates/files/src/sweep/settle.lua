--[[
  Ends the work on a file that a sweep has taken on. Without a time to try again, the file is done with.

  KEYS  1 purgatory   2 claims   3 failures
  ARGV  1 member   2 claimed_until   3 retry_at   4 failure
  Returns 1, or 0 when the sweep took so long that the file is no longer its own.
]]
local purgatory, claims, failures = KEYS[1], KEYS[2], KEYS[3]

local stored_until = redis.call('ZSCORE', claims, member)
if not stored_until or tonumber(stored_until) ~= tonumber(claimed_until) then return 0 end
redis.call('ZREM', claims, member)
if retry_at == '' then
  redis.call('ZREM', purgatory, member)
  redis.call('HDEL', failures, member)
elseif redis.call('ZSCORE', purgatory, member) then
  redis.call('ZADD', purgatory, retry_at, member)
  redis.call('HSET', failures, member, failure)
end
return 1
