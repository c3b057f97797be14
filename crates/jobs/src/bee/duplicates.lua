--[[
  Stores what a worker found that its jobs have in common with others, and ends those that are duplicates.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 worker   6 jobs...
        A job is three values: jid, attempt, hash.
  Derives the keys of the jobs, their hashes and their dependants under the same hash tag.
  Returns two values for each job: ok and empty, DUPLICATE and the original's jid, or why the worker may not
  (GONE, CANCELED, LOST) and empty.
]]
--- @include "named_limits"
--- @include "fence"
--- @include "unlock"
--- @include "die"
--- @include "timeouts"

is_for_outbox()

-- Whether a job failed longer ago than its result would be kept. It is kept for longer so that somebody can run it again,
-- and that must not keep others from running.
local function failed_long_ago(jid)
  local failed_at = tonumber(call('ZSCORE', failed_key(queue), jid) or nil)
  local job = failed_at and read_job(jid)
  return job and job[STATUS] == 'failed' and failed_at + option(table_of(job[OPTIONS]), 'ttl') <= now
end

-- Takes its hash from a failed job, and sets its duplicates to die.
local function disown(jid, key)
  for _, other in ipairs(call('LRANGE', key, 0, -1)) do
    local job = other ~= jid and read_job(other)
    if job then set_to_die(other, job, math.floor(option(table_of(job[OPTIONS]), 'ttl'))) end
  end
  call('DEL', key)
  call('HDEL', job_key(jid), 'hash')
end

-- The first job with the hash that still exists.
local function original(key)
  local jid = call('LINDEX', key, 0)
  while jid and call('EXISTS', job_key(jid)) == 0 do
    call('LPOP', key)
    jid = call('LINDEX', key, 0)
  end
  if jid and failed_long_ago(jid) then
    disown(jid, key)
    return nil
  end
  return jid
end

local function end_as_duplicate(job, original_jid)
  local jid = job[JID]
  unlock(jid, queue, worker)
  end_timeout(jid, queue)
  job[STATUS], job[DUPLICATE] = 'duplicate', original_jid
  job[HISTORY] = with_entry(job[HISTORY],
    entry('duplicate', ',"worker":' .. quoted(worker) .. ',"duplicateJid":' .. quoted(original_jid)))
  call('HSET', job_key(jid), 'status', 'duplicate', 'duplicate', original_jid, 'history', job[HISTORY])
  announce('duplicate', job)
  release_dependants(job)
  left_worker(job)
end

local function check(job, hash)
  if job[HASH] then return 'ok', '' end
  local key = hashes_key(queue, hash)
  local original_jid = original(key)
  call('HSET', job_key(job[JID]), 'hash', hash)
  call('RPUSH', key, job[JID])
  job[HASH] = hash
  if not original_jid then return 'ok', '' end
  end_as_duplicate(job, original_jid)
  return 'DUPLICATE', original_jid
end

local replies = {}
for at = JOBS_AT, #ARGV, 3 do
  local job = read_job(ARGV[at])
  local word, original_jid = refusal(job, queue, worker, ARGV[at + 1]), ''
  if not word then word, original_jid = check(job, ARGV[at + 2]) end
  replies[#replies + 1], replies[#replies + 2] = word, original_jid
end
return replies
