--[[
  Puts jobs back to where their status says that they are: what nothing names is neither run nor removed.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 lock_ms   5 puts_back   6 jids...
        Nothing is changed unless puts_back is 1.
  Derives the keys of the jobs and their queues under the same hash tag.
  Returns the jids of the jobs that are not in their places, or were not.
]]
--- @include "fail"
--- @include "die"
--- @include "reserved"

local lock_ms, puts_back = tonumber(lock_ms), puts_back == '1'
local WAITS = { new = true, queued = true, retried = true }
local HAS_RESULT = { completed = true, failed = true }
local IS_DYING = { canceled = true, expired = true }
local ENDED = { completed = true, failed = true, canceled = true, duplicate = true, expired = true }

-- Whether it waits for a job that can still end.
local function waits_for_others(jid)
  for _, dependency in ipairs(call('SMEMBERS', dependencies_key(jid))) do
    local status = call('HGET', job_key(dependency), 'status')
    if status and not ENDED[status] then return true end
  end
end

local function is_in_line(jid, queue, tenant)
  return call('ZSCORE', queue_key(queue), jid) or call('ZSCORE', delayed_key(queue), jid)
    or (tenant and call('ZSCORE', parked_key(queue, tenant), jid)) or waits_for_others(jid) or reservation_of(jid, queue)
end

local function is_in_place(jid, status, queue, tenant)
  if WAITS[status] then return is_in_line(jid, queue, tenant) end
  if status == 'running' then return call('ZSCORE', locks_key(queue), jid) end
  if HAS_RESULT[status] then
    return call('ZSCORE', expires_key(queue), jid) and (status ~= 'failed' or call('ZSCORE', failed_key(queue), jid))
      or call('PTTL', job_key(jid)) >= 0
  end
  return not IS_DYING[status] or call('PTTL', job_key(jid)) >= 0
end

local function put_back(jid, job)
  local status, queue = job[STATUS], job[QUEUE]
  local ttl = math.floor(option(table_of(job[OPTIONS]), 'ttl'))
  -- It may still have its tenant's place in the queue, and would wait for itself.
  if WAITS[status] and job[TENANT] then left_queue(jid, queue, job[TENANT]) end
  if status == 'new' then
    -- All that it waited for has ended without a word.
    call('DEL', dependencies_key(jid))
    release(jid, job)
  elseif WAITS[status] then
    enter_stored(jid, job)
  elseif status == 'running' then
    -- If it has a worker, that renews the lock; if not, the sweep takes it away.
    call('ZADD', locks_key(queue), now + lock_ms, jid)
  elseif HAS_RESULT[status] then
    local kept = status == 'failed' and failed_ttl(job) or ttl
    call('ZADD', expires_key(queue), 'NX', now + kept, jid)
    if status == 'failed' then call('ZADD', failed_key(queue), 'NX', now, jid) end
  else
    set_to_die(jid, job, ttl)
  end
end

local healed = {}
for at = JIDS_AT, #ARGV do
  local jid = ARGV[at]
  local known = call('HMGET', job_key(jid), 'status', 'queue', 'tenant')
  if known[1] and known[2] and not is_in_place(jid, unpack(known)) then
    local job = read_job(jid)
    if job then
      if puts_back then put_back(jid, job) end
      healed[#healed + 1] = jid
    end
  end
end
return healed
