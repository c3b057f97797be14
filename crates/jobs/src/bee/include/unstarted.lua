-- Jobs that were to start by some time and have not.
--- @include "withdraw"
--- @include "ready"
--- @include "die"
--- @include "timeouts"

-- So many end in one call; the next call goes on.
local UNSTARTED_MAX = 500

-- One that a worker took a moment ago has started, as far as anybody can tell.
local function is_taken(job)
  return job[STATUS] == 'queued' and not call('ZSCORE', queue_key(job[QUEUE]), job[JID])
end

-- A job that was tried again has started, whoever has run it: Node's workers do not say so.
local function still_waits(job)
  return (job[STATUS] == 'new' or job[STATUS] == 'queued') and (tonumber(job[RETRIES]) or 0) == 0
end

local function expire_unstarted(job, start_by)
  local within = start_by - (tonumber(job[SUBMITTED]) or start_by)
  withdraw(job)
  job[FAILED_REASON] = string.format('not started within %.0f ms', within)
  job[HISTORY] = with_entry(job[HISTORY], entry('expired', ',"message":' .. quoted(job[FAILED_REASON])))
  call('HSET', job_key(job[JID]), 'failedReason', job[FAILED_REASON], 'history', job[HISTORY])
  die(job[JID], job, 'expired')
  count(job[QUEUE], 'expired', 1)
  -- Node's listeners know no other word for an end without a result.
  announce('failed', job)
  release_dependants(job)
end

-- Ends the jobs of a queue that should have started. Returns whether more may be left.
local function end_unstarted(queue)
  local key = if_any(awaited_starts, start_by_key, queue)
  if not key then return false end
  local due = call('ZRANGEBYSCORE', key, '-inf', now, 'WITHSCORES', 'LIMIT', 0, UNSTARTED_MAX)
  local n_ended = 0
  for at = 1, #due, 2 do
    local job = read_job(due[at])
    if not (job and is_taken(job)) then
      call('ZREM', key, due[at])
      n_ended = n_ended + 1
      if job and still_waits(job) then expire_unstarted(job, tonumber(due[at + 1])) end
    end
  end
  return n_ended == UNSTARTED_MAX
end
