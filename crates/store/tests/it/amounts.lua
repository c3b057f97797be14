local function balance_of(key)
  return tonumber(redis.call('GET', key) or '0')
end
