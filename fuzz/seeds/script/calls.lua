local list = redis.call('LRANGE', KEYS[2], 0, -1)
for i, item in ipairs(list) do redis.call('HSET', KEYS[3], item, i) end
redis.setresp(3)
return {redis.call('HGETALL', KEYS[3]), redis.pcall('INCR', KEYS[2]), redis.status_reply('FINE'), {err = 'A b'}, {double = 1.5}}
