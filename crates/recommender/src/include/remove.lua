-- Takes posts out of the pool: out of their category, their challenge, and all that is kept about them.
-- Needs pair, authors, popularity, showings and categories.
--- @include "challenge_posts"

-- As many arguments as Lua's stack surely holds.
local CHUNK = 500

local function remove_posts(posts)
  for from = 1, #posts, CHUNK do
    local some = {}
    for at = from, math.min(from + CHUNK - 1, #posts) do some[#some + 1] = posts[at] end
    local challenges = redis.call('HMGET', pair, unpack(some))
    for at, challenge in ipairs(challenges) do
      if challenge then redis.call('ZREM', challenge_posts(challenge), some[at]) end
    end
    redis.call('HDEL', pair, unpack(some))
    redis.call('HDEL', authors, unpack(some))
    redis.call('HDEL', showings, unpack(some))
    redis.call('ZREM', popularity, unpack(some))
    for _, category in ipairs(categories) do redis.call('ZREM', category, unpack(some)) end
  end
end
