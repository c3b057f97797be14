--[[
  Takes on files that are due. Until the given time no other sweep does, and no upload may use their names.

  KEYS  1 purgatory   2 claims   3 failures
  ARGV  1 now   2 due   3 claimed_until   4 max
  Returns pairs of a member and what is known of its failures, the earliest first.
]]
local purgatory, claims, failures = KEYS[1], KEYS[2], KEYS[3]

redis.call('ZREMRANGEBYSCORE', claims, '-inf', now)
local members = redis.call('ZRANGEBYSCORE', purgatory, '-inf', due, 'LIMIT', 0, max)
local claimed = {}
for at, member in ipairs(members) do
  redis.call('ZADD', purgatory, claimed_until, member)
  redis.call('ZADD', claims, claimed_until, member)
  claimed[at] = { member, redis.call('HGET', failures, member) }
end
return claimed
