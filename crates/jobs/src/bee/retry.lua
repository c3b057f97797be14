--[[
  Lets a job that has failed or was canceled run again from the start.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 jid
  Derives the keys of the job's queue, tags and parent under the same hash tag.
  Returns ok, GONE when there is no such job, or its status when that is not one to retry from.
]]
--- @include "enter"
--- @include "logs"

local RETRIED_FROM = { failed = true, canceled = true, expired = true }

local key = KEYS[1]
local job = read_job(jid)
if not job then return 'GONE' end
if not RETRIED_FROM[job[STATUS]] then return job[STATUS] end

local queue = job[QUEUE]
call('PERSIST', key)
keep_log(jid, job)
call('ZREM', expires_key(queue), jid)
call('ZREM', failed_key(queue), jid)
-- A job that failed is still the original of its duplicates; any other has left its hash to others.
if job[STATUS] ~= 'failed' then call('HDEL', key, 'hash', 'duplicate') end
call('HDEL', key, 'failedReason', 'result', 'deaths', 'alone', 'errorGroup', 'progress')
-- It waits for nobody any more, whatever it was waiting for when it was canceled.
call('DEL', dependencies_key(jid))
call('HSET', key, 'retries', '0')
for _, name in ipairs(table_of(job[TAGS])) do call('SADD', tags_key(name), jid) end
if job[PARENT] then call('SADD', children_key(job[PARENT]), jid) end
job[HISTORY] = with_entry(job[HISTORY], entry('retriedByHand'))
enter_stored(jid, job)
return 'ok'
