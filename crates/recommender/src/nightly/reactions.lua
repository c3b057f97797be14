--[[
  Counts reactions for their posts and moves the watermark on.

  KEYS  1 watermarks   2 lengths   3 popularity   4 told
  ARGV  1 seen   2 mark   3 length   4 reactions...
        seen is the watermark that the caller has read. Without one, the reaction is told before the load has read it: it is
        remembered, and counted only if that is new. A reaction is its id, its post, and 1 if it takes an earlier one back, else 0.
  Returns nothing of interest.
  Errors  OTHER_LOAD
]]
local watermarks, lengths, popularity, told = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local read = redis.call('HGET', watermarks, 'reaction') or '0'
local is_load = seen ~= ''

if is_load and read ~= seen then return redis.error_reply('OTHER_LOAD it has read reactions') end

for at = REACTIONS_AT, #ARGV, 3 do
  local id, post, cancelled = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local new
  if is_load then
    new = not redis.call('ZSCORE', told, id)
  else
    new = tonumber(id) > tonumber(read) and redis.call('ZADD', told, id, id) == 1
  end
  if new then
    local likes = tonumber(redis.call('ZSCORE', popularity, post) or '0')
    likes = likes + (cancelled == '1' and -1 or 1)
    if likes > 0 then
      redis.call('ZADD', popularity, likes, post)
    else
      redis.call('ZREM', popularity, post)
    end
  end
end

if is_load then
  redis.call('HSET', watermarks, 'reaction', mark)
  redis.call('HSET', lengths, 'reaction', length)
  redis.call('ZREMRANGEBYSCORE', told, '-inf', mark)
end
return redis.status_reply('OK')
