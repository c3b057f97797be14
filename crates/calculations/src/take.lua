--[[
  Takes entries from a list, so that they are not lost when whoever takes them dies.

  KEYS  1 waiting   2 taken
  ARGV  1 max
  Returns the entries, oldest first.
]]
local call = redis.call
local entries = {}
for at = 1, tonumber(ARGV[1]) do
  local entry = call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT')
  if not entry then break end
  entries[at] = entry
end
return entries
