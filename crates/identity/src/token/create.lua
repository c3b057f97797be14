--[[
  Creates a token, and forgets tokens that expired long ago.

  KEYS  1 tokens   2 token   3 audit   4 first_admin   5 dropped...
  ARGV  1 user_sub   2 uid   3 name   4 role   5 now   6 expires_at   7 digest   8 max   9 change   10 audit_max
        11 reach   12 parent   13 is_first   14 dropped...
        expires_at and parent are empty for a token that has none. The dropped keys are those of the dropped names.
        With is_first = 1 the token is created only if there has never been a first one.
  Errors  TOO_MANY_TOKENS  NOT_THE_FIRST
]]
local tokens, token, audit, first_admin = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local unexpired = redis.call('ZCOUNT', tokens, 0, 0) + redis.call('ZCOUNT', tokens, '(' .. now, '+inf')
for at = 5, #KEYS do
  local ends_at = tonumber(redis.call('ZSCORE', tokens, ARGV[at - 5 + DROPPED_AT]) or now)
  if ends_at == 0 or ends_at > tonumber(now) then unexpired = unexpired - 1 end
end
if unexpired >= tonumber(max) then return redis.error_reply('TOO_MANY_TOKENS ' .. unexpired) end
if is_first == '1' and not redis.call('SET', first_admin, now, 'NX') then
  return redis.error_reply('NOT_THE_FIRST another start was first')
end

for at = 5, #KEYS do
  redis.call('DEL', KEYS[at])
  redis.call('ZREM', tokens, ARGV[at - 5 + DROPPED_AT])
end
redis.call('HSET', token, 'user_sub', user_sub, 'name', name, 'role', role, 'created_at', now, 'digest', digest, 'reach', reach)
if expires_at ~= '' then redis.call('HSET', token, 'expires_at', expires_at) end
if parent ~= '' then redis.call('HSET', token, 'parent', parent) end
redis.call('ZADD', tokens, expires_at == '' and 0 or expires_at, uid)
redis.call('LPUSH', audit, change)
redis.call('LTRIM', audit, 0, audit_max - 1)
return redis.status_reply('OK')
