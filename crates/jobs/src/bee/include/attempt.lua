-- The end of an attempt that did not complete its job.
--- @include "errors"
--- @include "fail"
--- @include "retries"
--- @include "times"

-- Tries again later, or fails for good. The exception has the `error` by which the failure is grouped.
local function attempt_failed(job, message, exception)
  local options = table_of(job[OPTIONS])
  local retries, limit = tonumber(job[RETRIES]) or 0, retry_limit(job, options)
  attempt_ended(job)
  job[HISTORY] = with_entry(job[HISTORY], entry('exception', ',"message":' .. quoted(message)))
  local is_final = exception.retry == false or retries >= limit
  add_failure(job, exception.error, exception.error.sample or message, is_final)
  if exception.retry == false or limit == 0 then return fail(job, message) end
  if retries >= limit then return fail(job, 'No more retries available') end
  retries = retries + 1
  count(job[QUEUE], 'retried', 1)
  local wait = retry_wait(job, options, exception, retries)
  call('HSET', job_key(job[JID]), 'status', 'retried', 'retries', string.format('%d', retries),
    'history', with_entry(job[HISTORY], delay_by(job[JID], job[QUEUE], wait, true)))
end

-- Runs the job later, as if this attempt had not been made.
local function snooze(job, wait)
  job[HISTORY] = with_entry(job[HISTORY], entry('snoozed'))
  call('HSET', job_key(job[JID]), 'status', 'new',
    'history', with_entry(job[HISTORY], delay_by(job[JID], job[QUEUE], wait, true)))
end
