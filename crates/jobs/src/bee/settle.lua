--[[
  Settles what a worker did with its jobs, and claims the next ones for it.

  A job is settled only by the worker that has it, in the attempt in which it got it: whoever comes late changes
  nothing. A worker that reports the same end of the same attempt again changes nothing either, and is not refused.
  Empty options leave the stored ones; an empty attempt is not compared.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 worker   6 lock_ms   7 max   8 reserve_as   9 closes   10 plain_ttl
        11 n_reserved   12 n_plain   13 n_begun   14 plain_times   15 alone_after   16 values...
        The next jobs are reserved under the number reserve_as, unless that is empty, and the reservation with the number closes is
        told of: each of its jobs is among the n_reserved or n_begun ones, or there is no such job.
        The first n_reserved outcomes, of jobs of that reservation, and the n_plain after them, of claimed ones, are of completed
        jobs of no tenant, taken from this queue, all with the same ttl. Each is four values: jid, attempt, result as
        JSON, and the history that it will have.
        How long these waited and ran stands in plain_times, unless that is empty: the sums of both and cell=number for each
        cell; then position,run of those that may be among the slowest; then wait,run or a dash for each job; a semicolon
        between them.
        alone_after is as in claim.
        Then come the n_begun jobs of the reservation that run from now on, each with its attempt.
        Any other outcome is six values: what (completed, failed, snoozed, released), jid, attempt, text (the result as
        JSON, or the message), options, and how: the ttl of a completed job or empty, the exception of a failed one as
        JSON with the `error` by which it is grouped, for how long a snoozed one is to wait.
  Derives the keys of the queue, the worker and the jobs under the same hash tag.
  Returns the outcomes that do not count, each by its position and a word (GONE, CANCELED, LOST); what claim returns;
  the ids that it reserved; and those of the reservation that could not begin.
]]
--- @include "claim"
--- @include "attempt"
--- @include "fence"
--- @include "give_back"
--- @include "stopping"

-- No new locals: a script has at most 200 at its left margin.
lock_ms, max = tonumber(lock_ms), tonumber(max)
n_reserved, n_plain, n_begun = tonumber(n_reserved), tonumber(n_plain), tonumber(n_begun)
local unlocked, expiring = {}, {}

-- The moment so long after now. Most jobs have the same ttl, and printing a number takes its time.
local after
do
  local moments = {}
  after = function(ttl)
    if not moments[ttl] then moments[ttl] = string.format('%.17g', now + tonumber(ttl)) end
    return moments[ttl]
  end
end

-- The outcomes that do not count, and how many of them are of canceled jobs that have stopped now.
local refused, n_stopped = {}, 0

local settle_if_allowed
do
  local function settle(what, job, text, options, how)
    unlocked[#unlocked + 1] = job[JID]
    end_timeout(job[JID], queue)
    if options ~= '' then
      job[OPTIONS] = options
      call('HSET', job_key(job[JID]), 'options', options)
    end
    if what == 'completed' then
      attempt_ended(job)
      local ttl = how ~= '' and how or option(table_of(job[OPTIONS]), 'ttl')
      job[STATUS], job[RESULT] = 'completed', text
      job[HISTORY] = with_entry(job[HISTORY], entry('completed'))
      call('HSET', job_key(job[JID]), 'status', 'completed', 'result', text, 'history', job[HISTORY])
      expiring[#expiring + 1], expiring[#expiring + 2] = after(ttl), job[JID]
      announce('completed', job)
      release_dependants(job)
    elseif what == 'failed' then
      attempt_failed(job, text, cjson.decode(how))
    elseif what == 'snoozed' then
      snooze(job, option({ delay = how }, 'delay'))
    else
      give_back(job)
    end
    left_worker(job)
  end

  -- Whether this worker has told the same end of the same attempt before, because it did not hear the answer.
  local function was_told(job, what, attempt, text)
    if job[QUEUE] ~= queue or job[WORKER] ~= worker or job[ATTEMPTS] ~= attempt then return false end
    -- What can happen to a job between the end of an attempt and the next claim.
    local after_a_failure = { delayed = true, queued = true, parked = true, failed = true, changed = true }
    local after_a_release = { delayed = true, queued = true, parked = true, changed = true }
    -- The entry that tells how the last attempt ended, if only these have come after it.
    local function last_end(event, after_it)
      local entries = table_of(job[HISTORY])
      for at = #entries, 1, -1 do
        if entries[at].event == event then return entries[at] end
        if not after_it[entries[at].event] then return end
      end
    end
    if what == 'completed' then return job[STATUS] == 'completed' and job[RESULT] == text end
    if what == 'released' then return last_end('released', after_a_release) ~= nil end
    if what == 'snoozed' then return last_end('snoozed', after_a_failure) ~= nil end
    local failure = last_end('exception', after_a_failure)
    return failure ~= nil and failure.message == text
  end

  settle_if_allowed = function(position, what, jid, attempt, text, options, how)
    local job = read_job(jid)
    local word = refusal(job, queue, worker, attempt)
    if word == 'LOST' and was_told(job, what, attempt, text) then return end
    if word then
      refused[#refused + 1], refused[#refused + 2] = position, word
      if has_stopped(jid, queue, attempt) then n_stopped = n_stopped + 1 end
    else
      settle(what, job, text, options, how)
    end
  end
end

-- Takes out the times of an outcome that is not plain: they count by its stored history, or not at all.
local function is_not_plain(position)
  if not times.each then
    times.each, times.not_plain = {}, {}
    for one in plain_times:match('^[^;]*;[^;]*;(.*)'):gmatch('%S+') do times.each[#times.each + 1] = one end
  end
  times.not_plain[position] = true
  local wait, run = times.each[position]:match('^(%d+),(%d+)$')
  if wait then observe(tonumber(wait), tonumber(run), -1) end
end

-- Most queues have no time limits, and most stores no webhooks: one question for all of that.
if call('EXISTS', timeouts_key(queue), start_by_key(queue), outbox_kinds_key()) == 0 then
  timed[queue], awaited_starts[queue], outbox[''] = false, false, false
end
local heard_here = is_heard(queue_events_key(queue)) or is_for_outbox('completed', queue)

-- Completes a job that nobody else waits for or hears of. Nothing has happened to it since its worker was told about
-- it, if it is still running there in the same attempt, so its history is what the worker makes of it.
local function complete_plain(position, jid, attempt, result, history)
  local key = job_key(jid)
  local job = not heard_here and call('HMGET', key, 'status', 'worker', 'attempts', 'dependants')
  if job and job[1] == 'running' and job[2] == worker and job[3] == attempt and not job[4] then
    call('HSET', key, 'status', 'completed', 'result', result, 'history', history)
    unlocked[#unlocked + 1] = jid
    end_timeout(jid, queue)
    expiring[#expiring + 1], expiring[#expiring + 2] = after(plain_ttl), jid
  else
    is_not_plain(position)
    settle_if_allowed(position, 'completed', jid, attempt, result, '', plain_ttl)
  end
end

-- The reservation, if it is still the worker's: when it was not told of in time, others have its jobs.
local reservation = closes ~= '' and call('HGET', reserved_key(queue), reservation_field(worker, closes))
if reservation then call('HDEL', reserved_key(queue), reservation_field(worker, closes)) end
local needs_no_look = reservation and not heard_here and is_untouched(reservation)

-- Lets a job of the reservation run from now on. Returns whether it does. When the worker tells it again because it has not
-- heard the answer, it does already.
local function begin(jid, attempt)
  local job = call('HMGET', job_key(jid), 'status', 'worker', 'attempts')
  if job[1] == 'running' and job[2] == worker and job[3] == attempt then return true end
  -- One that was canceled has left the reservation, and may be in the queue again.
  local is_ours = reservation and place_in(reservation, jid) and job[1] == 'queued'
  if not (is_ours and start(jid, queue, worker, true)) then return false end
  call('ZADD', locks_key(queue), now + lock_ms, jid)
  call('SADD', worker_locks_key(worker), jid)
  return true
end

-- Completes a job of the reservation. If all of its fields are new, somebody has deleted it meanwhile.
local function complete_reserved(position, jid, attempt, result, history)
  if not needs_no_look then
    is_not_plain(position)
    begin(jid, attempt)
    return settle_if_allowed(position, 'completed', jid, attempt, result, '', plain_ttl)
  end
  local key = job_key(jid)
  local n_new = call('HSET', key, 'status', 'completed', 'result', result, 'history', history, 'worker', worker,
    'attempts', attempt)
  if n_new == 5 then
    call('DEL', key)
    is_not_plain(position)
    refused[#refused + 1], refused[#refused + 2] = position, 'GONE'
  else
    forget_deadlines(jid, queue)
    expiring[#expiring + 1], expiring[#expiring + 2] = after(plain_ttl), jid
  end
end

local not_begun = {}

-- Settles all of them. What a function has within counts for itself: a script has at most 200 locals at once.
local function settle_all()
  if plain_times ~= '' then
    local wait_ms, run_ms, cells = plain_times:match('^(%d+) (%d+)([^;]*)')
    times.wait_ms, times.run_ms = tonumber(wait_ms), tonumber(run_ms)
    for cell, n in cells:gmatch('([%d.]+)=(%d+)') do times.cells[cell] = tonumber(n) end
  end
  local at = VALUES_AT
  for position = 1, n_reserved + n_plain do
    local complete_one = position <= n_reserved and complete_reserved or complete_plain
    complete_one(position, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
    at = at + 4
  end
  for _ = 1, n_begun do
    if not begin(ARGV[at], ARGV[at + 1]) then not_begun[#not_begun + 1] = ARGV[at] end
    at = at + 2
  end
  for position = n_reserved + n_plain + 1, n_reserved + n_plain + (#ARGV - at + 1) / 6 do
    settle_if_allowed(position, unpack(ARGV, at, at + 5))
    at = at + 6
  end
  for position, run in (plain_times:match('^[^;]*;([^;]*)') or ''):gmatch('(%d+),(%d+)') do
    local jid = ARGV[VALUES_AT + 4 * (position - 1)]
    local is_plain = not (times.not_plain and times.not_plain[tonumber(position)])
    if is_plain then times.slow[#times.slow + 1] = { jid = jid, run_ms = tonumber(run), at = now } end
  end
end
settle_all()
if n_stopped > 0 and heard_here then publish(queue_events_key(queue), event_text('resumed', '', queue)) end
in_chunks('ZREM', locks_key(queue), unlocked)
in_chunks('SREM', worker_locks_key(worker), unlocked)
in_chunks('ZADD', expires_key(queue), expiring)
if #expiring > 0 then count(queue, 'completed', #expiring / 2) end
count_times(queue)
if failures then failures.write(queue) end

local claimed, reserved = { {}, '', '', 0 }, {}
if max > 0 then claimed, reserved = claim(queue, worker, max, lock_ms, reserve_as ~= '' and reserve_as or nil, alone_after) end
write_counts()
return { refused, claimed[1], claimed[2], claimed[3], claimed[4], reserved, not_begun }
