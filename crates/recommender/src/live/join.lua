--[[
  Adds days to what a user has given to a category.

  KEYS  1 contributions
  ARGV  1 user   2 place   3 days   4 nothing
        place is that of the category among the user's numbers, from 1; nothing what a user without any has.
  Returns nothing of interest.
]]
local contributions = KEYS[1]

local numbers = {}
for number in string.gmatch(redis.call('HGET', contributions, user) or nothing, '[^,]+') do
  numbers[#numbers + 1] = number
end
local place = tonumber(place)
while #numbers < place do numbers[#numbers + 1] = '0' end
numbers[place] = string.format('%d', (tonumber(numbers[place]) or 0) + tonumber(days))
redis.call('HSET', contributions, user, table.concat(numbers, ','))
return redis.status_reply('OK')
