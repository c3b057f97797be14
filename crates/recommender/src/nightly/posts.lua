--[[
  Puts posts into the pool and moves the watermark on.

  KEYS  1 watermarks   2 lengths   3 breaks   4 pair   5 authors   6 categories...
  ARGV  1 seen   2 mark   3 length   4 filling   5 n_breaks   6 values...
        seen is the watermark that the caller has read; without one, neither it nor the length is touched. filling
        is 1 if the first load goes on after this, else 0. A break is a user and the user's new numbers, a post its id, challenge,
        category code, author and day.
  Derives challenge_posts(<challenge>) under the same hash tag.
  Returns nothing of interest.
  Errors  OTHER_LOAD
]]
local watermarks, lengths, breaks, pair, authors = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

--- @include "challenge_posts"

if seen ~= '' then
  if (redis.call('HGET', watermarks, 'post') or '0') ~= seen then
    return redis.error_reply('OTHER_LOAD it has read posts')
  end
  redis.call('HSET', watermarks, 'post', mark)
  redis.call('HSET', lengths, 'post', length)
  if filling == '1' then
    redis.call('HSET', watermarks, 'filling', '1')
  else
    redis.call('HDEL', watermarks, 'filling')
  end
end

local at = VALUES_AT
for _ = 1, tonumber(n_breaks) do
  redis.call('HSET', breaks, ARGV[at], ARGV[at + 1])
  at = at + 2
end

while at <= #ARGV do
  local post, challenge, code, author, day = unpack(ARGV, at, at + 4)
  local before = redis.call('HGET', pair, post)
  if before and before ~= challenge then redis.call('ZREM', challenge_posts(before), post) end
  for number = 6, #KEYS do
    -- A post that was moved or told at once keeps its day.
    local kept = before and redis.call('ZSCORE', KEYS[number], post)
    if kept then
      day = kept
      redis.call('ZREM', KEYS[number], post)
    end
  end
  redis.call('ZADD', KEYS[6 + tonumber(code)], day, post)
  redis.call('HSET', pair, post, challenge)
  redis.call('HSET', authors, post, author)
  redis.call('ZADD', challenge_posts(challenge), post, post)
  at = at + 5
end
return redis.status_reply('OK')
