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

-- Lists a job that a Node worker has failed. It failed a ttl before its result expires; what keyrack has failed, whose
-- failures may be kept for longer than results, is listed as of now. Returns how many are listed more.
local function list_failed(jid, queue, expires_at)
  local ttl = option(table_of(call('HGET', job_key(jid), 'options')), 'ttl')
  local failed_at = string.format('%.0f', math.min(math.max(tonumber(expires_at) - ttl, 0), now))
  return call('ZADD', failed_key(queue), 'NX', failed_at, jid)
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
