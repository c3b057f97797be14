--[[
  Forgets the account of the demo, and gives its database back if it was the last that was given.

  KEYS  1 account_databases   2 next_database
  ARGV  1 account   2 database
  Returns nothing.
]]
local call = redis.call
call('HDEL', KEYS[1], account)
local given = tonumber(database)
if given ~= 0 and tonumber(call('GET', KEYS[2]) or '0') == given + 1 then
  if call('EXISTS', KEYS[1]) == 0 then
    call('DEL', KEYS[2])
  else
    call('SET', KEYS[2], database)
  end
end
