--[[
  Gives an account its database, once.

  KEYS  1 account_databases   2 next_database
  ARGV  1 account   2 offered
        offered is what the caller saw as the next database, or 0 to share database 0.
  Returns the account's database, or -1 when the next one is another by now.
]]
local call = redis.call
local given = call('HGET', KEYS[1], account)
if given then return tonumber(given) end
if offered ~= '0' then
  if (call('GET', KEYS[2]) or '100') ~= offered then return -1 end
  call('SET', KEYS[2], string.format('%.0f', tonumber(offered) + 1))
end
call('HSET', KEYS[1], account, offered)
return tonumber(offered)
