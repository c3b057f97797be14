-- For how long the log of a job is kept.
--- @include "fail"

-- A log lives this much longer after its last line than the job's results do: a Node worker that ends the job leaves the log.
local LOG_SPARE_MS = 7776000000

-- Keeps the log of a job that has not ended. When the job ends, its log expires with it.
local function keep_log(jid, job)
  local kept = LOG_SPARE_MS + 2 * option(table_of(job[OPTIONS]), 'ttl') + failed_ttl(job)
  call('PEXPIRE', logs_key(jid), string.format('%.0f', kept))
end
