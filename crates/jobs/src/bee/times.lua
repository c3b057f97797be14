--[[
  Reads records of how much happened in a queue and how long it took, and what is counted in its open minutes.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 of   6 fields...
        The records are those of minutes, quarters or hours; one of hours is called total.
  Derives the keys of the queue under the same hash tag.
  Returns the records, each as JSON or empty; the counters of the open minutes; and the slowest attempts by hour.
]]
--- @include "keys"

local RECORDS = { minutes = times_minutes_key, quarters = times_quarters_key, hours = times_hours_key }

local records, key = {}, RECORDS[of](queue)
for first = FIELDS_AT, #ARGV, CHUNK do
  local found = call('HMGET', key, unpack(ARGV, first, math.min(first + CHUNK - 1, #ARGV)))
  for at = 1, #found do records[#records + 1] = found[at] or '' end
end
return { records, call('HGETALL', minutes_key(queue)), call('HGETALL', slowest_key(queue)) }
