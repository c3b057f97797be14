--[[
  Reads lines of a job's log, from a number on.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 jid   5 from   6 max
        A number below 0 counts from the end: -10 for the last ten lines.
  Derives the key of the job's log under the same hash tag.
  Returns the number of the first line returned, the number that the next line of the log will have, how many lines were
  dropped, and the lines, each as JSON.
]]
--- @include "keys"

local key = logs_key(jid)
local head, n_lines = table_of(call('LINDEX', key, 0)), math.max(call('LLEN', key) - 1, 0)
local next_line = tonumber(head.next) or 0
local oldest = math.max(next_line - n_lines, 0)
from = tonumber(from)
local first = math.max(from < 0 and next_line + from or from, oldest)
local lines = {}
if first < next_line then
  local at = 1 + first - oldest
  lines = call('LRANGE', key, at, at + tonumber(max) - 1)
end
return { first, next_line, tonumber(head.dropped) or 0, lines }
