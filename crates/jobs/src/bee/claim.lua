--[[
  Claims up to max waiting jobs of a queue and locks them for the worker.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 worker   6 lock_ms   7 max   8 alone_after
        A job that has lost alone_after workers, unless that is empty, is claimed only by a worker without other jobs.
  Derives the keys of the queue, the worker and the jobs under the same hash tag.
  Returns the fields of all jobs in one list, first to run first; what blocks more of them; when to ask again; how long an
  attempt may take at a job that says nothing about it, 0 for no limit.
]]
--- @include "claim"

local reply = claim(queue, worker, tonumber(max), tonumber(lock_ms), nil, alone_after)
write_counts()
return reply
