--[[
  Counts and announces jobs that wait for nothing. They were put into their queue in the same transaction.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue_name   5 n_jobs   6 jids
        The ids have a space between them: as one text they cost little where nobody listens.
  Returns nothing.
]]
--- @include "enter"

local queue = ARGV[4]
count(queue, 'submitted', tonumber(ARGV[5]))
local channel = queue_events_key(queue)
if is_heard(channel) then
  for jid in ARGV[6]:gmatch('%S+') do announce_new(channel, jid, queue) end
end
