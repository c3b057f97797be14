--[[
  Cancels a job and the jobs it submitted, whatever they are doing.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 jid   5 also_completed
        Completed jobs keep their results unless also_completed is 1. What a completed job has submitted is canceled with the
        parent of that job, and left alone if the job itself is the one to be canceled.
  Derives the keys of the jobs and their queues under the same hash tag.
  Returns the jids canceled, in the order of their events; empty when there is no such job, or when it is completed.
]]
--- @include "named_limits"
--- @include "die"
--- @include "unlock"
--- @include "withdraw"
--- @include "timeouts"
--- @include "stopping"

local canceled, seen = {}, {}

-- The worker may stop what it does for the job.
local function take_from_worker(job)
  unlock(job[JID], job[QUEUE], job[WORKER])
  await_stop(job)
  tell_worker('canceled', job)
  left_worker(job)
end

local function is_kept(status) return status == 'completed' and also_completed ~= '1' end

local function cancel(jid)
  local job = not seen[jid] and read_job(jid)
  if not job then return end
  seen[jid] = true
  local keeps_result = is_kept(job[STATUS])
  if not keeps_result then
    forget_deadlines(jid, job[QUEUE])
    if job[STATUS] == 'running' then take_from_worker(job) else withdraw(job) end
    job[HISTORY] = with_entry(job[HISTORY], entry('canceled'))
    call('HSET', job_key(jid), 'history', job[HISTORY])
    die(jid, job, 'canceled')
    count(job[QUEUE], 'canceled', 1)
  end
  for _, child in ipairs(call('SMEMBERS', children_key(jid))) do cancel(child) end
  if keeps_result then return end
  announce('canceled', job)
  release_dependants(job)
  canceled[#canceled + 1] = jid
end

is_for_outbox()
if not is_kept(call('HGET', KEYS[1], 'status')) then cancel(jid) end
write_counts()
return canceled
