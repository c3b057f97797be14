--[[
  Settles what a worker did with its jobs, and claims the next ones for it.

  A job is settled only by the worker that has it, in the attempt in which it got it: whoever comes late changes
  nothing. Empty options leave the stored ones; an empty attempt is not compared.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue_name   5 worker   6 lock_ms   7 max   8 outcomes...
        An outcome is six values: what (completed, failed, released), jid, attempt, text (the result as JSON, or the
        message), options, and how: the ttl of a completed job or empty, the exception of a failed one as JSON.
  Derives the keys of the queue, the worker and the jobs under the same hash tag.
  Returns a word for each outcome (ok, GONE, CANCELED, LOST), then what claim returns.
]]
--- @include "claim"
--- @include "fail"
--- @include "fence"
--- @include "give_back"

local queue, worker, lock_ms, max = ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local unlocked, expiring = {}, {}

-- The moment so long after now. Most jobs have the same ttl, and printing a number takes its time.
local moments = {}
local function after(ttl)
  if not moments[ttl] then moments[ttl] = string.format('%.17g', now + tonumber(ttl)) end
  return moments[ttl]
end

-- What completing a job needs while nobody listens.
local LITTLE = { 'queue', 'status', 'worker', 'attempts', 'history', 'dependants', 'tenant' }

local heard_here = is_heard(queue_events_key(queue))

-- The job, as far as it is needed for what became of it.
local function read_for(what, jid, how)
  if what ~= 'completed' or how == '' or heard_here then return read_job(jid) end
  local read = call('HMGET', job_key(jid), unpack(LITTLE))
  return read[1] and {
    [JID] = jid, [QUEUE] = read[1], [STATUS] = read[2], [WORKER] = read[3], [ATTEMPTS] = read[4], [HISTORY] = read[5],
    [DEPENDANTS] = read[6], [TENANT] = read[7],
  }
end

local function complete(job, result, ttl)
  if ttl == '' then ttl = option(table_of(job[OPTIONS]), 'ttl') end
  job[STATUS], job[RESULT] = 'completed', result
  job[HISTORY] = with_entry(job[HISTORY], entry('completed'))
  call('HSET', job_key(job[JID]), 'status', 'completed', 'result', result, 'history', job[HISTORY])
  expiring[#expiring + 1], expiring[#expiring + 2] = after(ttl), job[JID]
  announce('completed', job)
  release_dependants(job)
end

-- Tries again later, or fails for good.
local function attempt_failed(job, message, how)
  local exception, options = cjson.decode(how), table_of(job[OPTIONS])
  local retries, limit = tonumber(job[RETRIES]) or 0, option(options, 'retries')
  job[HISTORY] = with_entry(job[HISTORY], entry('exception', ',"message":' .. quoted(message)))
  if exception.retry == false or limit == 0 then return fail(job, message) end
  if retries >= limit then return fail(job, 'No more retries available') end
  retries = retries + 1
  local wait = option(tonumber(exception.retryDelay) and exception or options, 'retryDelay')
  local progressive = exception.progressiveDelay
  if progressive == nil then progressive = options.progressiveDelay end
  if progressive == true then wait = wait * retries end
  call('HSET', job_key(job[JID]), 'status', 'retried', 'retries', string.format('%d', retries),
    'history', with_entry(job[HISTORY], delay_by(job[JID], queue, wait)))
end

local function settle(what, job, text, options, how)
  unlocked[#unlocked + 1] = job[JID]
  if options ~= '' then
    job[OPTIONS] = options
    call('HSET', job_key(job[JID]), 'options', options)
  end
  if what == 'completed' then
    complete(job, text, how)
  elseif what == 'failed' then
    attempt_failed(job, text, how)
  else
    give_back(job)
  end
  if job[TENANT] then left_worker(job[JID], queue, job[TENANT]) end
end

local words = {}
for at = 8, #ARGV, 6 do
  local job = read_for(ARGV[at], ARGV[at + 1], ARGV[at + 5])
  local word = refusal(job, queue, worker, ARGV[at + 2])
  if not word then settle(ARGV[at], job, ARGV[at + 3], ARGV[at + 4], ARGV[at + 5]) end
  words[#words + 1] = word or 'ok'
end
in_chunks('ZREM', locks_key(queue), unlocked)
in_chunks('SREM', worker_locks_key(worker), unlocked)
in_chunks('ZADD', expires_key(queue), expiring)
if #expiring > 0 then count(queue, 'completed', #expiring / 2) end

local claimed = max > 0 and claim(queue, worker, max, lock_ms) or { {}, '', '' }
return { words, claimed[1], claimed[2], claimed[3] }
