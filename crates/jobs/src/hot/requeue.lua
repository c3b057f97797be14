--[[
  Moves the oldest entries that were set aside to the end of the queue.

  KEYS  1 unknown   2 hot
  ARGV  1 max
  Returns how many were moved.
]]
for moved = 1, tonumber(ARGV[1]) do
  if not redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') then return moved - 1 end
end
return tonumber(ARGV[1])
