--[[
  Renews a worker's locks and its place among the workers of the queue.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 worker   6 lock_ms   7 info   8 lists   9 holding...
        What is known about the worker is JSON; empty when nothing is. With lists 1 the worker says which jobs it knows
        that it has: only their locks are renewed, and jobs that it should have heard of by now are given back.
  Derives the keys of the queue, the worker and its jobs under the same hash tag.
  Returns the jids that the worker still has, so that it can stop what is no longer its own.
]]
--- @include "give_back"
--- @include "named_limits"
--- @include "unlock"

-- Workers that were silent for longer are forgotten.
local FORGOTTEN_MS = 3600000

local lock_ms = tonumber(lock_ms)
call('ZREMRANGEBYSCORE', bees_key(queue), '-inf', now - FORGOTTEN_MS)
call('ZADD', bees_key(queue), now, worker)
if info ~= '' then call('HSET', workers_key(queue), worker, info) end

-- So long the answer to a claim may be under way, and at most half of the time for which the jobs are locked. A worker
-- that sends heartbeats beside its claims does not know of these jobs yet, and they are its own all the same.
local ANSWER_MS = math.min(5000, lock_ms / 2)

local holding = lists == '1' and {}
for at = HOLDING_AT, #ARGV do holding[ARGV[at]] = true end

-- When the job was claimed. Its history ends with that, unless another program has rewritten it.
local function claimed_at(job)
  return tonumber((job[HISTORY] or ''):match('.*"event":"popped","timestamp":(%d+)') or nil) or now
end

-- Gives a job back if the answer that told the worker of it must have been lost. Returns whether it did.
local function give_back_if_lost(jid)
  local job = read_job(jid)
  if not job or now - claimed_at(job) < ANSWER_MS then return false end
  unlock(jid, queue, worker)
  give_back(job)
  left_worker(job)
  return true
end

local kept = {}
for _, jid in ipairs(call('SMEMBERS', worker_locks_key(worker))) do
  local job = call('HMGET', job_key(jid), 'status', 'worker')
  if job[1] ~= 'running' or job[2] ~= worker then
    call('SREM', worker_locks_key(worker), jid)
  elseif not holding or holding[jid] then
    kept[#kept + 1] = jid
    -- A job that is locked for longer stays so.
    call('ZADD', locks_key(queue), 'GT', now + lock_ms, jid)
    call('DEL', lock_waits_key(worker, jid))
  elseif not give_back_if_lost(jid) then
    kept[#kept + 1] = jid
  end
end
return kept
