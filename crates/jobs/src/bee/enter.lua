--[[
  Lets jobs into their queue that wait for nothing and have no priority. They are stored in the same transaction.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue_name   5 jids...
  Returns nothing.
]]
--- @include "enter"

local queue, entries = ARGV[4], {}
local is_listened_to = is_heard(queue_events_key(queue))
for at = 5, #ARGV do
  entries[#entries + 1], entries[#entries + 2] = now_text, ARGV[at]
  if is_listened_to then announce_new(queue_events_key(queue), ARGV[at], queue) end
end
in_chunks('ZADD', queue_key(queue), entries)
count(queue, 'submitted', #ARGV - 4)
