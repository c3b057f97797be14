--[[
  Deletes a bar with its steps and retained traces, if it is still the one that the caller has read.

  KEYS  1 bar   2 steps   3 traces   4 samples   5 paces   6 bars   7 stale...
  ARGV  1 revision   2 name
  Returns whether it was deleted.
]]
--- @include "bar"
if not is_as_read(KEYS[1], revision) then return 0 end
call('DEL', KEYS[1], KEYS[2])
forget_samples(KEYS[3], KEYS[4], KEYS[5])
call('ZREM', KEYS[6], name)
drop_stale(7)
return 1
