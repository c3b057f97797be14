--[[
  Lets jobs that wait for nothing into their queue, counts and announces them. They were stored in the same transaction, and
  those without a priority are in the queue already.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 n_jobs   6 jids   7 prioritized...
        Ids have a space between them: as one text they cost little where nobody listens. Those with a priority come once more:
        each priority, followed by the ids of its jobs.
  Returns nothing.
]]
--- @include "enter"

for at = PRIORITIZED_AT, #ARGV, 2 do
  local of_priority = {}
  for jid in ARGV[at + 1]:gmatch('%S+') do of_priority[#of_priority + 1] = jid end
  enter_many(of_priority, queue, ARGV[at])
end
count(queue, 'submitted', tonumber(n_jobs))
write_counts()
local channel = queue_events_key(queue)
if is_heard(channel) then
  for jid in jids:gmatch('%S+') do announce_new(channel, jid, queue) end
end
