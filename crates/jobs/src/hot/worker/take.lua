--[[
  Takes entries from the head of the queue and keeps them aside.

  KEYS  1 hot   2 taken
  ARGV  1 max
  Returns the entries, oldest first.
]]
local entries = {}
for at = 1, tonumber(max) do
  local entry = redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT')
  if not entry then break end
  entries[at] = entry
end
return entries
