--[[
  Moves an amount from one account to another and says so.

  KEYS  1 from   2 to   3 moved
  ARGV  1 amount
  Returns what is left in the first account.
  Errors  TOO_LITTLE
]]
--- @include "publish"
--- @include "amounts"

local left = balance_of(KEYS[1]) - tonumber(amount)
if left < 0 then
  return redis.error_reply('TOO_LITTLE ' .. string.format('%d', -left) .. ' are missing')
end
redis.call('SET', KEYS[1], string.format('%d', left))
redis.call('INCRBY', KEYS[2], amount)
publish(KEYS[3], amount)
return left
