-- How many of a kind one user may have: a sorted set of all, by when each is surely gone.

-- Enters a member until a moment, unless there are max others; false then. The list lives for ttl_ms at least.
local function enter_quota(list, member, now, ends_at, max, ttl_ms)
  redis.call('ZREMRANGEBYSCORE', list, '-inf', now)
  if not redis.call('ZSCORE', list, member) and redis.call('ZCARD', list) >= max then return false end
  redis.call('ZADD', list, ends_at, member)
  if redis.call('PTTL', list) < ttl_ms then redis.call('PEXPIRE', list, string.format('%d', ttl_ms)) end
  return true
end

-- When the first of a full list is gone, from now, in the unit of its scores.
local function quota_opens_in(list, now)
  local first = redis.call('ZRANGE', list, 0, 0, 'WITHSCORES')
  return string.format('%d', math.max(math.ceil((tonumber(first[2]) or now) - now), 1))
end
