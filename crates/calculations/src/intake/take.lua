--[[
  Takes entries from a list, so that they are not lost when whoever takes them dies. What the dead have taken comes first.

  KEYS  1 waiting   2 taken   3 takers
  ARGV  1 taker   2 now   3 patience_ms   4 max
        A process that was not heard of for longer than patience_ms is taken to be dead.
  Derives the taken(<taker>) of others under the same hash tag.
  Returns the entries, oldest first; and how many others have taken, when nothing is left.
]]
--- @include "put_back"

-- The dead are few, and each has taken no more than max.
local DEAD_MAX = 10
local prefix = KEYS[2]:sub(1, -#taker - 1)
local silent_since = string.format('(%.0f', tonumber(now) - tonumber(patience_ms))
local dead = call('ZRANGEBYSCORE', KEYS[3], '-inf', silent_since, 'LIMIT', 0, DEAD_MAX)
for _, other in ipairs(dead) do put_back(KEYS[1], prefix .. other, KEYS[3], other) end
call('ZADD', KEYS[3], now, taker)

local entries = {}
for at = 1, tonumber(max) do
  local entry = call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT')
  if not entry then break end
  entries[at] = entry
end
local with_others = 0
if #entries == 0 then
  for _, other in ipairs(call('ZRANGE', KEYS[3], 0, -1)) do
    with_others = with_others + call('LLEN', prefix .. other)
  end
end
return { entries, with_others }
