--[[
  Forgets the account of the demo, and gives its database back if it was the last that was given.

  KEYS  1 account_databases   2 next_database
  ARGV  1 account   2 database
  Returns nothing.
]]
local call = redis.call
call('HDEL', KEYS[1], ARGV[1])
local database = tonumber(ARGV[2])
if database ~= 0 and tonumber(call('GET', KEYS[2]) or '0') == database + 1 then
  if call('EXISTS', KEYS[1]) == 0 then
    call('DEL', KEYS[2])
  else
    call('SET', KEYS[2], ARGV[2])
  end
end
