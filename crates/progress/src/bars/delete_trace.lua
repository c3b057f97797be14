--[[
  Deletes a retained trace, if the bar is still the one that the caller has read.

  KEYS  1 bar   2 traces   3 samples   4 paces   5 stale...
  ARGV  1 revision   2 uid
  Returns deleted, missing, or changed when the bar is another.
]]
--- @include "bar"
if not is_as_read(KEYS[1], revision) then return 'changed' end
if call('ZREM', KEYS[2], uid) + call('HDEL', KEYS[3], uid) == 0 then return 'missing' end
call('HDEL', KEYS[4], uid)
call('HINCRBY', KEYS[1], 'sampled', 1)
drop_stale(5)
return 'deleted'
