--[[
  Gives a project its token, unless it has one.

  KEYS  1 token   2 tokens
  ARGV  1 account   2 project   3 digest   4 now
  Errors  TOKEN_EXISTS
]]
local call = redis.call
if call('HEXISTS', KEYS[2], project) == 1 or call('EXISTS', KEYS[1]) == 1 then
  return redis.error_reply('TOKEN_EXISTS the project or the token is taken')
end
call('HSET', KEYS[1], 'account', account, 'project', project, 'created_at', now)
call('HSET', KEYS[2], project, digest)
return 1
