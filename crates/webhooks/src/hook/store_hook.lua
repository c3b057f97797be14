--[[
  Stores a webhook and its secrets.

  KEYS  1 hooks   2 secrets
  ARGV  1 hook   2 settings   3 secrets_text   4 which   5 max
        which is new, or known for one that has to be there.
  Returns ok, GONE if there is no such webhook, or TOO_MANY.
]]
if which == 'known' and redis.call('HEXISTS', KEYS[1], hook) == 0 then return 'GONE' end
if which == 'new' and redis.call('HLEN', KEYS[1]) >= tonumber(max) then return 'TOO_MANY' end
redis.call('HGET', KEYS[2], hook)
redis.call('HSET', KEYS[1], hook, settings)
redis.call('HSET', KEYS[2], hook, secrets_text)
return 'ok'
