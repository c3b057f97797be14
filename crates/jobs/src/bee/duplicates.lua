--[[
  Stores what a worker found that its jobs have in common with others, and ends those that are duplicates.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue_name   5 worker   6 jobs...
        A job is three values: jid, attempt, hash.
  Derives the keys of the jobs, their hashes and their dependants under the same hash tag.
  Returns two values for each job: ok and empty, DUPLICATE and the original's jid, or why the worker may not
  (GONE, CANCELED, LOST) and empty.
]]
--- @include "ready"
--- @include "fence"
--- @include "unlock"

local queue, worker = ARGV[4], ARGV[5]

-- The first job with the hash that still exists.
local function original(key)
  local jid = call('LINDEX', key, 0)
  while jid and call('EXISTS', job_key(jid)) == 0 do
    call('LPOP', key)
    jid = call('LINDEX', key, 0)
  end
  return jid
end

local function end_as_duplicate(job, original_jid)
  local jid = job[JID]
  unlock(jid, queue, worker)
  job[STATUS], job[DUPLICATE] = 'duplicate', original_jid
  job[HISTORY] = with_entry(job[HISTORY],
    entry('duplicate', ',"worker":' .. quoted(worker) .. ',"duplicateJid":' .. quoted(original_jid)))
  call('HSET', job_key(jid), 'status', 'duplicate', 'duplicate', original_jid, 'history', job[HISTORY])
  announce('duplicate', job)
  release_dependants(job)
  if job[TENANT] then left_worker(jid, queue, job[TENANT]) end
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
for at = 6, #ARGV, 3 do
  local job = read_job(ARGV[at])
  local word, original_jid = refusal(job, queue, worker, ARGV[at + 1]), ''
  if not word then word, original_jid = check(job, ARGV[at + 2]) end
  replies[#replies + 1], replies[#replies + 2] = word, original_jid
end
return replies
