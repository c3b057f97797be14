--[[
  Takes on files that are due. Until the given time no other sweep does, and no upload may use their names.

  KEYS  1 purgatory   2 claims   3 failures
  ARGV  1 now   2 due   3 until   4 max
  Returns pairs of a member and what is known of its failures, the earliest first.
]]
local purgatory, claims, failures = KEYS[1], KEYS[2], KEYS[3]

redis.call('ZREMRANGEBYSCORE', claims, '-inf', ARGV[1])
local members = redis.call('ZRANGEBYSCORE', purgatory, '-inf', ARGV[2], 'LIMIT', 0, ARGV[4])
local claimed = {}
for at, member in ipairs(members) do
  redis.call('ZADD', purgatory, ARGV[3], member)
  redis.call('ZADD', claims, ARGV[3], member)
  claimed[at] = { member, redis.call('HGET', failures, member) }
end
return claimed
