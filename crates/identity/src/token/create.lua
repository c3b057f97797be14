--[[
  Creates a token, and forgets tokens that expired long ago.

  KEYS  1 tokens   2 token   3 audit   4 dropped...
  ARGV  1 user_sub   2 uid   3 name   4 role   5 now   6 expires_at   7 digest   8 max   9 change   10 audit_max   11 dropped...
        expires_at is empty for a token that does not expire. The dropped keys are those of the dropped names.
  Errors  TOO_MANY_TOKENS
]]
local tokens, token, audit = KEYS[1], KEYS[2], KEYS[3]
local user_sub, uid, now, expires_at = ARGV[1], ARGV[2], ARGV[5], ARGV[6]

local unexpired = redis.call('ZCOUNT', tokens, 0, 0) + redis.call('ZCOUNT', tokens, '(' .. now, '+inf')
if unexpired >= tonumber(ARGV[8]) then return redis.error_reply('TOO_MANY_TOKENS ' .. unexpired) end

for at = 4, #KEYS do
  redis.call('DEL', KEYS[at])
  redis.call('ZREM', tokens, ARGV[at + 7])
end
redis.call('HSET', token, 'user_sub', user_sub, 'name', ARGV[3], 'role', ARGV[4], 'created_at', now, 'digest', ARGV[7])
if expires_at ~= '' then redis.call('HSET', token, 'expires_at', expires_at) end
redis.call('ZADD', tokens, expires_at == '' and 0 or expires_at, uid)
redis.call('LPUSH', audit, ARGV[9])
redis.call('LTRIM', audit, 0, ARGV[10] - 1)
return redis.status_reply('OK')
