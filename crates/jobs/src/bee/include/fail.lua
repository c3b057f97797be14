-- The end of a job that failed for good.
--- @include "ready"

-- A failed job is kept for 7 days, so that somebody can find it and run it again.
local FAILED_TTL_MS = 604800000

-- For how long a failed job is kept: as it says itself, or its queue. 0 is as long as a result.
local function failed_ttl(job)
  local options = table_of(job[OPTIONS])
  local ttl = tonumber(options.failedTtl) or tonumber(call('HGET', settings_key(job[QUEUE]), 'failed_ttl_ms') or nil)
  if ttl == 0 then return option(options, 'ttl') end
  return ttl and ttl > 0 and math.min(ttl, OPTION_MAX) or FAILED_TTL_MS
end

-- `job` is what is stored, with its newest options and history.
local function fail(job, reason)
  job[STATUS], job[FAILED_REASON] = 'failed', reason
  job[HISTORY] = with_entry(job[HISTORY], entry('failed', ',"message":' .. quoted(reason)))
  call('HSET', job_key(job[JID]), 'status', 'failed', 'failedReason', reason, 'history', job[HISTORY])
  call('ZADD', expires_key(job[QUEUE]), now + failed_ttl(job), job[JID])
  call('ZADD', failed_key(job[QUEUE]), now, job[JID])
  count(job[QUEUE], 'failed', 1)
  announce('failed', job)
  release_dependants(job)
end
