--[[
  Groups failed jobs that have no group yet: a Node worker has failed them, or an earlier version of keyrack.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 failures...
        Each failure is two values: the job, and as JSON what groups it.
  Derives the keys of the queue, its workers and the jobs under the same hash tag.
  Returns how many jobs were grouped.
]]
--- @include "errors"

local n_noted = 0
for at = FAILURES_AT, #ARGV, 2 do
  local job = read_job(ARGV[at])
  local is_new = job and job[STATUS] == 'failed' and job[QUEUE] == queue
    and not call('HGET', job_key(job[JID]), 'errorGroup')
  if is_new then
    local failure = cjson.decode(ARGV[at + 1])
    local failed_at = tonumber(call('ZSCORE', failed_key(queue), job[JID]) or nil) or now
    add_failure(job, failure, failure.sample, true, math.min(failed_at, now))
    n_noted = n_noted + 1
  end
end
if failures then failures.write(queue) end
write_counts()
return n_noted
