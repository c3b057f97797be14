--[[
  Keeps what was worked out, if bar and samples are still those that it was worked out from.

  KEYS  1 bar   2 overall   3 steps...
  ARGV  1 revision   2 sampled   3 ttl   4 overall   5 fits...
        A fit is a and b of a step; an empty b stands for none.
  Returns whether it was kept.
]]
local call = redis.call
local stored = call('HMGET', KEYS[1], 'revision', 'sampled')
if stored[1] ~= revision or (stored[2] or '') ~= sampled then return 0 end

call('SET', KEYS[2], overall, 'EX', ttl)
for at = 3, #KEYS do
  local fit = FITS_AT + 2 * (at - 3)
  local a, b = ARGV[fit], ARGV[fit + 1]
  -- There may be anything.
  call('DEL', KEYS[at])
  call('HSET', KEYS[at], 'a', a, 'check', a .. ',' .. b)
  if b ~= '' then call('HSET', KEYS[at], 'b', b) end
  call('EXPIRE', KEYS[at], ttl)
end
return 1
