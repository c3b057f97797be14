-- Who may still decide about a running job.
--- @include "events"

-- Why this worker may not settle the job in this attempt, if so. An empty attempt is not compared.
local function refusal(job, queue, worker, attempt)
  if not job then return 'GONE' end
  if job[STATUS] == 'canceled' then return 'CANCELED' end
  local same = job[WORKER] == worker and job[STATUS] == 'running' and job[QUEUE] == queue
  if not same or (attempt ~= '' and (job[ATTEMPTS] or '0') ~= attempt) then return 'LOST' end
end
