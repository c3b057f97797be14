--[[
  Takes out of a user's keys what can no longer be recommended, and writes what the user follows.

  KEYS  1 liked   2 preferences   3 counted   4 follows   5 shown   6 hidden
  ARGV  1 mark   2 n_posts   3 n_challenges   4 n_unfollowed   5 values...
        Posts to forget, challenges to forget, challenges followed no more, and challenges followed.
  Returns nothing of interest.
]]
local liked, preferences, counted, follows, shown, hidden = unpack(KEYS)

local at = VALUES_AT
local function each(n, act)
  for _ = 1, n do
    act(ARGV[at])
    at = at + 1
  end
end

redis.call('ZREMRANGEBYSCORE', counted, '-inf', mark)
each(tonumber(n_posts), function(post)
  redis.call('SREM', liked, post)
  redis.call('SREM', hidden, post)
  redis.call('ZREM', shown, post)
end)
each(tonumber(n_challenges), function(challenge) redis.call('ZREM', preferences, challenge) end)
each(tonumber(n_unfollowed), function(challenge) redis.call('SREM', follows, challenge) end)
each(#ARGV - at + 1, function(challenge) redis.call('SADD', follows, challenge) end)
return redis.status_reply('OK')
