-- Giving an unfinished job back.
--- @include "enter"
--- @include "timeouts"

-- A job that is given back in its first attempt has not started, and still has to in time.
local function restore_start_by(job)
  local options = job[ATTEMPTS] == '1' and job[OPTIONS]:find('"startBy"', 1, true) and table_of(job[OPTIONS])
  local start_by = options and tonumber(options.startBy)
  if not start_by then return end
  awaited_starts[job[QUEUE]] = start_by_key(job[QUEUE])
  call('ZADD', awaited_starts[job[QUEUE]], string.format('%.0f', start_by), job[JID])
end

-- Puts a claimed job back at the head of its queue, as if nobody had claimed it.
local function give_back(job)
  local jid, queue, tenant = job[JID], job[QUEUE], job[TENANT]
  -- It does not run any more, so it cannot be what keeps its tenant from running this very job.
  if tenant then call('SREM', tenant_running_key(queue, tenant), jid) end
  local history = with_entry(job[HISTORY], entry('released'))
  restore_start_by(job)
  if tenant and not takes_place(jid, queue, tenant) then
    call('ZADD', parked_key(queue, tenant), 0, jid)
    call('HSET', job_key(jid), 'status', 'new', 'history', history)
  else
    call('HSET', job_key(jid), 'status', 'queued', 'history', history)
    enqueue(jid, queue, math.min(score_for(queue_key(queue), 10), now), RANK_OF_RETURNED)
  end
end
