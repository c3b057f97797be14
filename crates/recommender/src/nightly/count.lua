--[[
  Counts reactions for a user, each once.

  KEYS  1 liked   2 preferences   3 counted
  ARGV  1 mark   2 reactions...
        mark is how far loads have read: what was counted up to there need not be remembered. A reaction is its id, post,
        challenge, and 1 if it takes an earlier one back, else 0.
  Returns how many were counted.
]]
local liked, preferences, counted = KEYS[1], KEYS[2], KEYS[3]

redis.call('ZREMRANGEBYSCORE', counted, '-inf', mark)
local n = 0
for at = REACTIONS_AT, #ARGV, 4 do
  local id, post, challenge, cancelled = unpack(ARGV, at, at + 3)
  if tonumber(id) > tonumber(mark) and redis.call('ZADD', counted, id, id) == 1 then
    n = n + 1
    if cancelled == '1' then
      -- The post stays liked: whoever took a reaction back has seen it.
      redis.call('ZINCRBY', preferences, '-0.6', challenge)
    else
      redis.call('SADD', liked, post)
      redis.call('ZINCRBY', preferences, '1', challenge)
    end
  end
end
return n
