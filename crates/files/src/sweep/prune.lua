--[[
  Forgets the failures of files that are no longer in purgatory, because another program took them out.

  KEYS  1 purgatory   2 failures
  ARGV  1 members...
  Returns how many.
]]
local dropped = 0
for _, member in ipairs(ARGV) do
  if not redis.call('ZSCORE', KEYS[1], member) then
    dropped = dropped + redis.call('HDEL', KEYS[2], member)
  end
end
return dropped
