--[[
  Renews a worker's locks and its place among the workers of the queue.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue_name   5 worker   6 lock_ms   7 info
        What is known about the worker is JSON; empty when nothing is.
  Derives the keys of the queue, the worker and its jobs under the same hash tag.
  Returns the jids that the worker still has, so that it can stop what is no longer its own.
]]
--- @include "events"

-- Workers that were silent for longer are forgotten.
local FORGOTTEN_MS = 3600000

local queue, worker, lock_ms = ARGV[4], ARGV[5], tonumber(ARGV[6])
call('ZREMRANGEBYSCORE', bees_key(queue), '-inf', now - FORGOTTEN_MS)
call('ZADD', bees_key(queue), now, worker)
if ARGV[7] ~= '' then call('HSET', workers_key(queue), worker, ARGV[7]) end

local kept, locks = {}, {}
for _, jid in ipairs(call('SMEMBERS', worker_locks_key(worker))) do
  local job = call('HMGET', job_key(jid), 'status', 'worker')
  if job[1] == 'running' and job[2] == worker then
    kept[#kept + 1] = jid
    locks[#locks + 1], locks[#locks + 2] = now + lock_ms, jid
    call('DEL', lock_waits_key(worker, jid))
  else
    call('SREM', worker_locks_key(worker), jid)
  end
end
in_chunks('ZADD', locks_key(queue), locks)
return kept
