-- For how long the log of a job is kept.
--- @include "fail"

-- A log lives so much longer after its last line than the job's results: jobs that Node ends take nothing of ours with them.
local LOG_SPARE_MS = 7776000000

-- Keeps the log of a job that lives. When the job ends for good its log expires with it.
local function keep_log(jid, job)
  local kept = LOG_SPARE_MS + 2 * option(table_of(job[OPTIONS]), 'ttl') + failed_ttl(job)
  call('PEXPIRE', logs_key(jid), string.format('%.0f', kept))
end
