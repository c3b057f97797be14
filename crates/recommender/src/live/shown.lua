--[[
  Counts how often posts were shown, as long as they may be recommended.

  KEYS  1 pair   2 showings
  ARGV  1 posts...
  Returns nothing of interest.
]]
local pair, showings = KEYS[1], KEYS[2]

for _, post in ipairs(ARGV) do
  if redis.call('HEXISTS', pair, post) == 1 then redis.call('HINCRBY', showings, post, 1) end
end
return redis.status_reply('OK')
