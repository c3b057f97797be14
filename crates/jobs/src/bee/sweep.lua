--[[
  Cleans up a queue: results that expired, locks that were not renewed, workers that are gone, counters grown old.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 lock_ms   6 waits_max   7 deaths_max   8 last_chance_after
        9 finished_max   10 cursor   11 gone...
        A lock may expire waits_max times before its job is taken away; the workers under gone lose theirs at once. A job
        that lost deaths_max workers fails; 0 for no such limit. One that lost last_chance_after has to run alone to be
        believed the cause. The cursor walks the tenants.
  Derives the keys of the queue, the workers and the jobs under the same hash tag.
  Returns how many results expired, how many jobs were taken from their workers, the next cursor, and the ids of the jobs that
  failed because they have lost their workers.
]]
--- @include "attempt"
--- @include "unstarted"
--- @include "unlock"
--- @include "unique"
--- @include "fold"

-- Entries looked at in one call; the next sweep goes on.
local SWEPT_MAX = 1000
local TENANTS_MAX = 100
local RANKED_LOOKED_AT = 100
local LOCK_WAITS_S = 86400
local ALIVE = { new = true, queued = true, running = true, retried = true }
-- Entries that are gone through for completed jobs among failed ones.
local SEARCHED_MAX = 10000

local lock_ms, waits_max, deaths_max = tonumber(lock_ms), tonumber(waits_max), tonumber(deaths_max)
local last_chance_after, finished_max = tonumber(last_chance_after), tonumber(finished_max)
local expired, taken, failed = 0, 0, {}
is_for_outbox()

-- Ends a result that is not kept any longer. Returns whether it was one.
local function expire(jid)
  local job = read_job(jid)
  local has_ended = job and not ALIVE[job[STATUS]]
  if has_ended then die(jid, job, 'expired') end
  -- An entry whose job is gone, or was run again after Node had believed a late worker, must not stop later sweeps.
  call('ZREM', expires_key(queue), jid)
  call('ZREM', failed_key(queue), jid)
  expired = expired + 1
  return has_ended
end

local function expire_due()
  for _, jid in ipairs(call('ZRANGEBYSCORE', expires_key(queue), 0, now, 'LIMIT', 0, SWEPT_MAX)) do expire(jid) end
end

local dropped = 0

-- Ends a job before its time, because the queue keeps no more of its kind.
local function drop(jid)
  if not expire(jid) then return end
  call('UNLINK', job_key(jid), logs_key(jid))
  dropped = dropped + 1
end

-- Whether a job with a result has failed. Node keeps no list of those, so what it has failed is listed here.
local function has_failed(jid)
  if call('ZSCORE', failed_key(queue), jid) then return true end
  if call('HGET', job_key(jid), 'status') ~= 'failed' then return false end
  list_failed(jid, queue, call('ZSCORE', expires_key(queue), jid))
  return true, true
end

-- Drops completed jobs, those first that would expire first.
local function drop_completed(surplus)
  local at = 0
  while surplus > 0 and dropped < SWEPT_MAX and at < SEARCHED_MAX do
    local jids = call('ZRANGE', expires_key(queue), at, at + SWEPT_MAX - 1)
    if #jids == 0 then return end
    for _, jid in ipairs(jids) do
      local is_kept, was_unlisted = true, false
      if surplus > 0 and dropped < SWEPT_MAX then is_kept, was_unlisted = has_failed(jid) end
      if is_kept then at = at + 1 else drop(jid) end
      -- One that was not listed as failed was counted as completed.
      if not is_kept or was_unlisted then surplus = surplus - 1 end
    end
  end
end

-- More jobs than the queue may keep. Completed and failed ones are counted apart: no number of results may take away a
-- failed job that nobody has looked at.
local function drop_surplus()
  local limits = call('HMGET', settings_key(queue), 'completed_max', 'failed_max')
  local completed_max = tonumber(limits[1] or nil) or finished_max
  local failed_max = tonumber(limits[2] or nil) or finished_max
  drop_completed(call('ZCARD', expires_key(queue)) - call('ZCARD', failed_key(queue)) - completed_max)
  local n_failed = call('ZCARD', failed_key(queue))
  if n_failed > failed_max then
    local surplus = math.min(n_failed - failed_max, SWEPT_MAX)
    for _, jid in ipairs(call('ZRANGE', failed_key(queue), 0, surplus - 1)) do drop(jid) end
  end
  if dropped > 0 then count(queue, 'dropped', dropped) end
end

-- Whether the worker of the job died of nothing else. Workers that do not run suspects alone are given no such credit.
local function is_to_blame(job)
  local info = call('HGET', workers_key(queue), job[WORKER])
  if table_of(info).isolates ~= true then return true end
  return call('HGET', job_key(job[JID]), 'alone') == job[ATTEMPTS]
end

-- Takes a job from a worker that is gone: to another, or to its end if it has lost enough of them.
--
-- The first deaths are counted against all jobs that the worker had. A job that has its last chance is noted before it
-- begins, so without that note it had not begun, and the death costs it nothing. Hence neighbours of a job that kills its
-- workers lose a few retries and never fail for it, and the job itself fails when it has died alone.
local function take_away(job)
  local jid, old_worker = job[JID], job[WORKER]
  taken = taken + 1
  unlock(jid, queue, old_worker)
  end_timeout(jid, queue)
  tell_worker('lost', job)
  job[HISTORY] = with_entry(job[HISTORY], entry('expiredLock', ',"old_worker":' .. quoted(old_worker)))
  local deaths, retries = tonumber(job[DEATHS] or '0') + 1, tonumber(job[RETRIES]) or 0
  local key, to_blame = job_key(jid), deaths_max > 0 and is_to_blame(job)
  local function fail_for_good(reason)
    add_failure(job, worker_lost(), reason, true)
    fail(job, reason)
    failed[#failed + 1] = jid
  end
  local is_counted = deaths_max == 0 or to_blame or deaths <= last_chance_after
  if is_counted then
    call('HSET', key, 'deaths', string.format('%d', deaths))
    -- A worker was lost with it, so it has started. Otherwise it would end as expired when somebody runs it again by hand.
    forget_start_by(jid, queue)
  end
  if not is_counted then
    enter_stored(jid, job)
  elseif to_blame and deaths >= deaths_max then
    fail_for_good(string.format('%d workers were lost while they ran this job, the last was "%s"', deaths, old_worker))
  elseif retries >= retry_limit(job, table_of(job[OPTIONS])) then
    fail_for_good('no more retries available')
  else
    call('HSET', key, 'retries', string.format('%d', retries + 1))
    count(queue, 'retried', 1)
    enter_stored(jid, job)
  end
  left_worker(job)
end

local function missed_lock(jid)
  local job = read_job(jid)
  if not job or job[STATUS] ~= 'running' then
    call('ZREM', locks_key(queue), jid)
    if job and job[WORKER] and job[WORKER] ~= '' then call('SREM', worker_locks_key(job[WORKER]), jid) end
    return
  end
  if waits_max > 0 then
    local waits = lock_waits_key(job[WORKER], jid)
    local missed = call('INCR', waits)
    call('EXPIRE', waits, LOCK_WAITS_S)
    if missed <= waits_max then return call('ZADD', locks_key(queue), now + lock_ms, jid) end
  end
  take_away(job)
end

local function miss_locks()
  for _, jid in ipairs(call('ZRANGEBYSCORE', locks_key(queue), 0, now, 'LIMIT', 0, SWEPT_MAX)) do missed_lock(jid) end
end

-- When a job has to have ended: a worker that stops what it runs by itself has the time that it says it needs for that.
local function has_to_end_by(job, due)
  return due + (tonumber(table_of(call('HGET', workers_key(queue), job[WORKER])).stop_ms) or 0)
end

-- Fails the attempt at a job that runs for too long, as its worker would.
local function time_out(job)
  taken = taken + 1
  unlock(job[JID], queue, job[WORKER])
  end_timeout(job[JID], queue)
  tell_worker('lost', job)
  local timeout = timeout_of(job[OPTIONS], queue) or 0
  attempt_failed(job, string.format('TimeoutError: Worker method timed out after %.0f ms', timeout), { error = timed_out() })
  left_worker(job)
end

local function end_overdue()
  local due = call('ZRANGEBYSCORE', timeouts_key(queue), '-inf', now, 'WITHSCORES', 'LIMIT', 0, SWEPT_MAX)
  for at = 1, #due, 2 do
    local job = read_job(due[at])
    if not job or job[STATUS] ~= 'running' then
      call('ZREM', timeouts_key(queue), due[at])
    elseif has_to_end_by(job, tonumber(due[at + 1])) <= now then
      time_out(job)
    end
  end
end

-- Takes the reservations of workers that are gone, and those that were not told of in time. Heartbeats do not count: a worker that
-- is there tells of its reservations at once, or has not heard that it has them.
local function take_reservations(gone)
  local reservations = call('HGETALL', reserved_key(queue))
  for at = 1, #reservations, 2 do
    local _, locked_until = jobs_in(reservations[at + 1])
    if gone[worker_of(reservations[at])] or locked_until <= now then
      for _, job in ipairs(dissolve(queue, reservations[at], reservations[at + 1])) do take_away(job) end
    end
  end
end

local function bury(worker)
  for _, jid in ipairs(call('SMEMBERS', worker_locks_key(worker))) do
    local job = read_job(jid)
    if job and job[STATUS] == 'running' and job[WORKER] == worker and job[QUEUE] == queue then
      take_away(job)
    else
      call('SREM', worker_locks_key(worker), jid)
    end
  end
  call('ZREM', bees_key(queue), worker)
  call('HDEL', workers_key(queue), worker)
end

-- Node workers know nothing of tenants: they take jobs and end them without a word.
local function heal_tenant(tenant)
  for jid in standing(queue, tenant):gmatch('%S+') do
    if not call('ZSCORE', queue_key(queue), jid) then left_queue(jid, queue, tenant) end
  end
  local running = tenant_running_key(queue, tenant)
  for _, member in ipairs(call('SMEMBERS', running)) do
    if call('HGET', job_key(member), 'status') ~= 'running' then call('SREM', running, member) end
  end
  feed(queue, tenant)
end

local function heal_tenants(cursor)
  local reply = call('HSCAN', tenants_key(queue), cursor, 'COUNT', TENANTS_MAX)
  for at = 1, #reply[2], 2 do heal_tenant(reply[2][at]) end
  return reply[1]
end

-- Node workers end jobs without a word to the limits that these name. Of very many limits, each sweep looks at some.
local function heal_named_limits()
  if call('HGET', settings_key(queue), 'named_limits') ~= '1' then return end
  local names = {}
  for _, field in ipairs(call('HKEYS', settings_key(queue))) do
    names[#names + 1] = field:match('^limit_concurrency:(.*)$')
  end
  table.sort(names)
  for at = 1, math.min(#names, TENANTS_MAX) do
    local name = names[(math.floor(now / 1000) * TENANTS_MAX + at) % #names + 1]
    for _, member in ipairs(call('SMEMBERS', limit_running_key(queue, name))) do
      if call('HGET', job_key(member), 'status') ~= 'running' then call('SREM', limit_running_key(queue, name), member) end
    end
    named_limits.look(queue, name)
  end
end

-- Node workers take jobs out of the queue and know nothing of ranks.
local function prune_ranked()
  local key = ranked_key(queue)
  for _, member in ipairs(call('ZRANGE', key, 0, RANKED_LOOKED_AT - 1)) do
    local jid = member:match(':(.*)$')
    if not call('ZSCORE', queue_key(queue), jid) then call('ZREM', key, member) end
  end
end

-- What stands for equal submissions and has ended. An entry is looked at when its time is over, and then from time to time.
local function forget_unique()
  local function is_alive(jid) return jid and ALIVE[call('HGET', job_key(jid), 'status')] end
  for _, field in ipairs(call('ZRANGEBYSCORE', unique_looks_key(queue), '-inf', now, 'LIMIT', 0, SWEPT_MAX)) do
    local entry = table_of(call('HGET', unique_key(queue), field))
    if is_alive(entry.jid) or is_alive(entry.next) then
      call('ZADD', unique_looks_key(queue), string.format('%.0f', now + UNIQUE_LOOK_MS), field)
    else
      call('HDEL', unique_key(queue), field)
      call('ZREM', unique_looks_key(queue), field)
    end
  end
end

local function forget_workers()
  for _, worker in ipairs(call('HKEYS', workers_key(queue))) do
    if not call('ZSCORE', bees_key(queue), worker) then call('HDEL', workers_key(queue), worker) end
  end
end

expire_due()
drop_surplus()
miss_locks()
local gone = {}
for at = GONE_AT, #ARGV do gone[ARGV[at]] = true end
take_reservations(gone)
for worker in pairs(gone) do bury(worker) end
end_overdue()
end_unstarted(queue)
forget_workers()
forget_unique()
prune_ranked()
call('ZREMRANGEBYSCORE', stopping_key(queue), '-inf', now)
wake_tenants(queue)
local cursor = heal_tenants(cursor)
heal_named_limits()
count_times(queue)
if failures then failures.write(queue) end
write_counts()
fold_minutes(queue)
return { expired, taken, cursor, failed }
