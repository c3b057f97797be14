--[[
  Takes on accounts whose rules may be due, so that no two processes look at one at once.

  KEYS  1 due_accounts
  ARGV  1 now   2 again_at   3 max
        Whoever takes an account on and dies leaves it to others from again_at on.
  Returns the accounts.
]]
local call = redis.call
local accounts = call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, max)
for _, account in ipairs(accounts) do call('ZADD', KEYS[1], again_at, account) end
return accounts
