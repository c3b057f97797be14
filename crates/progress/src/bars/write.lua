--[[
  Writes a bar and its steps, if the bar is still the one that the caller has read.

  KEYS  1 bar   2 steps   3 traces   4 samples   5 paces   6 bars   7 stale...
  ARGV  1 revision   2 name   3 created_at   4 bars_max   5 forget   6 values...
        The revision is empty for a new bar. Retained traces are dropped if forget is 1. Values as for write_bar.
  Returns whether it was written.
  Errors  TOO_MANY_BARS
]]
--- @include "bar"
local bar, steps, traces, samples, paces, bars = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

if not is_as_read(bar, revision) then return 0 end
if not enter_list(bars, name, created_at, tonumber(bars_max)) then return refuse_bar() end
write_bar(bar, steps, ARGV, VALUES_AT)
if forget == '1' then forget_samples(traces, samples, paces) end
drop_stale(7)
return 1
