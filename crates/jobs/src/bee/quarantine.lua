--[[
  Notes that a job which has lost workers is about to run, and that nothing else runs in the process of its worker.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 worker   6 jid   7 attempt
  Derives the key of the job under the same hash tag.
  Returns ok, or why the job is no longer the worker's: GONE, CANCELED, LOST.
]]
--- @include "fence"

local word = refusal(read_job(jid), queue, worker, attempt)
if word then return word end
call('HSET', job_key(jid), 'alone', attempt)
return 'ok'
