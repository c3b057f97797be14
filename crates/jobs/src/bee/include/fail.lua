-- The end of a job that failed for good.
--- @include "ready"

-- `job` is what is stored, with its newest options and history.
local function fail(job, reason)
  job[STATUS], job[FAILED_REASON] = 'failed', reason
  job[HISTORY] = with_entry(job[HISTORY], entry('failed', ',"message":' .. quoted(reason)))
  call('HSET', job_key(job[JID]), 'status', 'failed', 'failedReason', reason, 'history', job[HISTORY])
  call('ZADD', expires_key(job[QUEUE]), now + option(table_of(job[OPTIONS]), 'ttl'), job[JID])
  call('ZADD', failed_key(job[QUEUE]), now, job[JID])
  count(job[QUEUE], 'failed', 1)
  announce('failed', job)
  release_dependants(job)
end
