--[[
  Keeps what was worked out, if bar and samples are still those that it was worked out from.

  KEYS  1 bar   2 overall   3 steps...
  ARGV  1 revision   2 sampled   3 ttl   4 overall   5 fits...
        A fit is a and b of a step; an empty b stands for none.
  Returns whether it was kept.
]]
local call = redis.call
local stored = call('HMGET', KEYS[1], 'revision', 'sampled')
if stored[1] ~= ARGV[1] or (stored[2] or '') ~= ARGV[2] then return 0 end

call('SET', KEYS[2], ARGV[4], 'EX', ARGV[3])
for at = 3, #KEYS do
  local a, b = ARGV[2 * at - 1], ARGV[2 * at]
  -- There may be anything.
  call('DEL', KEYS[at])
  call('HSET', KEYS[at], 'a', a, 'check', a .. ',' .. b)
  if b ~= '' then call('HSET', KEYS[at], 'b', b) end
  call('EXPIRE', KEYS[at], ARGV[3])
end
return 1
