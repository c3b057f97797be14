--[[
  Changes a job that waits: all that is asked for, or nothing.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 jid   5 known   6 options   7 data   8 args_field   9 due   10 start_by   11 to   12 what
        What is empty stays as it is. Options are stored if those that are there are still the known ones. A job with new data
        no longer stands for submissions with its old arguments, whose entry is args_field. due is a time, or now for the head
        of the queue; start_by a time, or none; to another queue of the group; what is told in the history, as JSON text
        that begins with a comma.
  Derives the keys of the job's queues under the same hash tag.
  Returns ok; SAME when there was nothing to change; GONE when there is no such job; CHANGED when it has other options; or
  why it cannot be changed: TAKEN, AWAITS, STARTED, DUPLICATES, NOWHERE, or a status in which it does not wait.
]]
--- @include "ready"
--- @include "withdraw"
--- @include "unique"

local job = read_job(jid)
if not job then return 'GONE' end
if not WAITS[job[STATUS]] then return job[STATUS] end

-- Where the job waits, and its score there. Node keeps no list of those that wait for others.
local function place_of(queue, tenant)
  local score = call('ZSCORE', queue_key(queue), jid)
  if score then return 'queued', tonumber(score) end
  score = call('ZSCORE', delayed_key(queue), jid)
  if score then return 'delayed', tonumber(score) end
  score = tenant and call('ZSCORE', parked_key(queue, tenant), jid)
  if score then return 'parked', tonumber(score) end
  if call('EXISTS', dependencies_key(jid)) == 1 then
    return 'waiting', tonumber(call('ZSCORE', waiting_key(queue), jid) or nil)
  end
end

local queue, tenant = job[QUEUE], job[TENANT]
local place, score = place_of(queue, tenant)
-- Another queue has limits of its own.
local is_held = place == 'delayed' and named_limits.place(jid, job)
local hash_key = job[HASH] and (data ~= '' or to ~= '') and hashes_key(queue, job[HASH])

-- Why the job cannot be changed, if so.
local function objection()
  if not place then return job[STATUS] == 'queued' and 'TAKEN' or 'NOWHERE' end
  if options ~= '' and job[OPTIONS] ~= known then return 'CHANGED' end
  if place == 'waiting' and due ~= '' then return 'AWAITS' end
  local sets_start = start_by ~= '' and start_by ~= 'none'
  if sets_start and (job[ATTEMPTS] or job[RETRIES] ~= '0') then return 'STARTED' end
  -- What its duplicates have in common with it must not change.
  if hash_key and call('LLEN', hash_key) > 1 then return 'DUPLICATES' end
  local is_due_then = due == '' or (place == 'delayed' and tonumber(due) == score)
  if is_due_then and options .. data .. start_by .. to == '' then return 'SAME' end
end

local word = objection()
if word then return word end

local function priority_in(text) return tonumber(table_of(text).priority) or 0 end
local old_priority = priority_in(job[OPTIONS])
local new_priority = options == '' and old_priority or priority_in(options)

-- When the job came to its place. Without a priority it stands there by that.
local function entered_at(event)
  local at = (job[HISTORY] or ''):match('.*"event":"' .. event .. '","timestamp":(%d+)')
  return tonumber(at or job[SUBMITTED] or nil) or now
end

-- The first score of a list, which is not in the future.
local function first_score(key)
  return math.min(tonumber(call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or nil) or now, now)
end

-- The score that the new priority gives: a share of the way from where the job would stand without one to the head. What has
-- come and gone since it had its place must not turn the direction around.
local function new_score(key, event)
  local entered, first, p = entered_at(event), first_score(key), math.min(new_priority, 10)
  local moved = entered
  if p > 0 then moved = entered - (entered - math.min(first, entered)) / 10 * p end
  if p < 0 then moved = entered - p * (now - first < FRESH_MS and LATER_MS or (now - first) / 10) end
  if place == 'parked' then moved = moved - (RANK_OF_NONE - rank_of(new_priority)) / 4096 end
  return new_priority > old_priority and math.min(moved, score) or math.max(moved, score)
end

local function set_place(at, rank)
  call('ZADD', queue_key(queue), at, jid)
  unrank(jid, queue, old_priority)
  if rank ~= RANK_OF_NONE then call('ZADD', ranked_key(queue), at, ranked_member(rank, jid)) end
end

-- Gives a job that stays in its queue, or among those of its tenant, the place of its new priority.
local function reprioritise()
  if place == 'parked' then
    call('ZADD', parked_key(queue, tenant), new_score(parked_key(queue, tenant), 'parked'), jid)
  elseif place == 'queued' then
    -- One that runs next does not lose that by a higher priority.
    local is_first = call('ZSCORE', ranked_key(queue), ranked_member(RANK_OF_RETURNED, jid))
    local rank = is_first and new_priority > old_priority and RANK_OF_RETURNED or rank_of(new_priority)
    set_place(new_score(queue_key(queue), 'queued'), rank)
  end
end

-- Lets a job that is in no list run next.
local function enter_first()
  if tenant and not takes_place(jid, queue, tenant) then
    call('ZADD', parked_key(queue, tenant), 0, jid)
    return 'new', entry('parked')
  end
  enqueue(jid, queue, first_score(queue_key(queue)), RANK_OF_RETURNED, host_in(table_of(job[OPTIONS])))
  return 'queued', entry('queued')
end

-- Puts a job that has left its place where it belongs now. Returns its status and its history entry, if it has a new one.
local function place_anew()
  if place == 'waiting' then
    call('ZADD', waiting_key(queue), score or now, jid)
  elseif due == 'now' then
    return enter_first()
  elseif due ~= '' then
    local happened = delay_by(jid, queue, math.max(tonumber(due) - now, 0))
    return place == 'delayed' and job[STATUS] or 'new', happened
  elseif place == 'delayed' and not is_held then
    delay_by(jid, queue, score - now)
  else
    local options = table_of(job[OPTIONS])
    return enter(jid, queue, options.priority, host_in(options), tenant)
  end
end

-- The job stands for submissions with its old arguments no longer.
local function forget_args()
  local stood = unique_entry(queue, args_field)
  if stood and stood.jid == jid then
    call('HDEL', unique_key(queue), args_field)
    call('ZREM', unique_looks_key(queue), args_field)
  elseif stood and stood.next == jid then
    call('HSET', unique_key(queue), args_field, unique_text({ jid = stood.jid, at = stood.at }))
  end
end

local function leave_hash()
  call('LREM', hash_key, 0, jid)
  call('HDEL', job_key(jid), 'hash')
end

-- The time by which it has to start follows the job to another queue.
local function set_start_by(from)
  local at = start_by
  if at == '' then at = call('ZSCORE', start_by_key(from), jid) end
  if start_by ~= '' or from ~= queue then call('ZREM', start_by_key(from), jid) end
  if at and at ~= 'none' then call('ZADD', start_by_key(queue), at, jid) end
end

local leaves = to ~= '' or (due ~= '' and (due ~= 'now' or place == 'delayed'))
local from, fields = queue, {}
local function set(name, value) fields[#fields + 1], fields[#fields + 2] = name, value end

if leaves then withdraw(job) end
if hash_key then leave_hash() end
if data ~= '' then
  if args_field ~= '' then forget_args() end
  set('data', data)
end
if to ~= '' then
  queue, job[QUEUE] = to, to
  set('queue', to)
end
if options ~= '' then
  job[OPTIONS] = options
  set('options', options)
end
if start_by ~= '' or to ~= '' then set_start_by(from) end
local status, happened
if leaves then
  status, happened = place_anew()
elseif due == 'now' then
  if place == 'parked' then call('ZADD', parked_key(queue, tenant), 0, jid) else set_place(first_score(queue_key(queue)), RANK_OF_RETURNED) end
elseif new_priority ~= old_priority then
  reprioritise()
end
local history = with_entry(job[HISTORY], entry('changed', what))
set('history', happened and with_entry(history, happened) or history)
if status then set('status', status) end
if due == 'now' then named_limits.put_first(jid, queue, job[OPTIONS]) end
call('HSET', job_key(jid), unpack(fields))
return 'ok'
