--[[
  Writes the id of a user at RevenueCat, unless there is one that is to stay.

  KEYS  1 customer
  ARGV  1 now   2 revenue_cat_id   3 replace
]]
local customer, id = KEYS[1], revenue_cat_id

redis.call('HSETNX', customer, 'created_at', now)
redis.call(replace == '1' and 'HSET' or 'HSETNX', customer, 'revenue_cat_id', id)
return redis.status_reply('OK')
