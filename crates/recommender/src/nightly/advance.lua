--[[
  Begins a day: moves day_index on and takes out the posts whose day comes round again.

  KEYS  1 parameters   2 pair   3 authors   4 popularity   5 showings   6 categories...
  ARGV  1 seen   2 today   3 passed   4 old_index   5 old_ring   6 new_index   7 new_ring
        seen is the last_run that the caller has read, empty if there was none; passed the days since then. A ring of another
        size gives each post another place, so that its age stays what it is.
  Derives challenge_posts(<challenge>) under the same hash tag.
  Returns how many posts were taken out.
  Errors  OTHER_LOAD
]]
local parameters, pair, authors, popularity, showings = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local categories = {}
for at = 6, #KEYS do categories[#categories + 1] = KEYS[at] end
--- @include "remove"

local passed, old_index, old_ring = tonumber(passed), tonumber(old_index), tonumber(old_ring)
local new_index, new_ring = tonumber(new_index), tonumber(new_ring)

if (redis.call('HGET', parameters, 'last_run') or '') ~= seen then
  return redis.error_reply('OTHER_LOAD it has begun this day')
end

local removed = 0
local function take_out(posts)
  removed = removed + #posts
  remove_posts(posts)
end

for _, category in ipairs(categories) do
  -- No day of the ring: written by somebody who counted otherwise.
  take_out(redis.call('ZRANGEBYSCORE', category, old_ring, '+inf'))
  if old_ring == new_ring then
    for day = 1, math.min(passed, old_ring) do
      local slot = (old_index + day) % old_ring
      take_out(redis.call('ZRANGEBYSCORE', category, slot, slot))
    end
  else
    local posts = redis.call('ZRANGE', category, 0, -1, 'WITHSCORES')
    local old = {}
    for at = 1, #posts, 2 do
      local age = (old_index - tonumber(posts[at + 1])) % old_ring + passed
      if age >= new_ring then
        old[#old + 1] = posts[at]
      else
        redis.call('ZADD', category, (new_index - age) % new_ring, posts[at])
      end
    end
    take_out(old)
  end
end

redis.call('HSET', parameters, 'day_index', new_index, 'last_run', today, 'ring', new_ring)
return removed
