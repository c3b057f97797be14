--[[
  Puts an entry that a worker holds into a list.

  KEYS  1 to   2 taken...
  ARGV  1 entry   2 side   3 max
  The side of the list is head or tail. A worker that keeps its entries in a list of its own passes that list, and the
  entry moves from there; when it is not there any more, somebody else has taken care of it.
  Returns how many entries were dropped at the head because the list had more than max; 0 stands for no limit.
]]
local to, taken = KEYS[1], KEYS[2]
local max = tonumber(max)

if taken and redis.call('LREM', taken, 1, entry) == 0 then return 0 end
local length = redis.call(side == 'head' and 'LPUSH' or 'RPUSH', to, entry)
if max == 0 or length <= max then return 0 end
redis.call('LTRIM', to, -max, -1)
return length - max
