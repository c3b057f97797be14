--[[
  Takes posts out of the pool: deleted ones, and those that nobody may see any more.

  KEYS  1 pair   2 authors   3 popularity   4 showings   5 categories...
  ARGV  1 posts...
  Derives challenge_posts(<challenge>) under the same hash tag.
  Returns nothing of interest.
]]
local pair, authors, popularity, showings = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local categories = {}
for at = 5, #KEYS do categories[#categories + 1] = KEYS[at] end
--- @include "remove"

remove_posts(ARGV)
return redis.status_reply('OK')
