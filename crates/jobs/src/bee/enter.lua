--[[
  Counts and announces jobs that wait for nothing. They were put into their queue in the same transaction.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 n_jobs   6 jids
        The ids have a space between them: as one text they cost little where nobody listens.
  Returns nothing.
]]
--- @include "enter"

count(queue, 'submitted', tonumber(n_jobs))
local channel = queue_events_key(queue)
if is_heard(channel) then
  for jid in jids:gmatch('%S+') do announce_new(channel, jid, queue) end
end
