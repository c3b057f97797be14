-- Jobs that stand for several submissions: who submits an equal one gets the job that is there.
--
-- An entry has the job and when it was submitted. Nothing is written when a job starts or ends: what it does is looked up when
-- the next one is submitted, so workers need not know of entries. The sweep takes out those that stand for nothing.
--- @include "ready"
--- @include "withdraw"
--- @include "die"

-- The sweep looks at an entry so much later.
local UNIQUE_LOOK_MS = 600000

local WAITS = { new = true, queued = true, retried = true }

-- What a job does: waiting, running, canceled or ended; and the job, if there is one. A queued job that is not in its queue
-- was taken a moment ago.
local function doing(jid)
  local job = read_job(jid)
  if not job then return 'ended' end
  local status = job[STATUS]
  local is_taken = status == 'queued' and not call('ZSCORE', queue_key(job[QUEUE]), jid)
  if status == 'running' or is_taken then return 'running', job end
  if WAITS[status] then return 'waiting', job end
  return status == 'canceled' and 'canceled' or 'ended', job
end

-- A job that can still be changed: nobody has run it, and it waits for no other.
local function unstarted(jid)
  local state, job = doing(jid)
  if state ~= 'waiting' or job[ATTEMPTS] or job[RETRIES] ~= '0' then return end
  return call('EXISTS', dependencies_key(jid)) == 0 and job
end

local function unique_entry(queue, field)
  local text = call('HGET', unique_key(queue), field)
  return text and cjson.decode(text)
end

local function unique_text(entry)
  local text = '{"jid":' .. quoted(entry.jid) .. ',"at":' .. string.format('%.0f', entry.at)
  if entry.next then text = text .. ',"next":' .. quoted(entry.next) end
  return text .. '}'
end

local function remember(queue, field, entry, look_at)
  call('HSET', unique_key(queue), field, unique_text(entry))
  call('ZADD', unique_looks_key(queue), string.format('%.0f', look_at), field)
end

-- Lets a job that has not started run with other arguments, not before it is due. One that stands in its queue since its time
-- was over keeps its place there, or a burst without end would keep it from running.
local function take_over(job, data, due)
  local jid, queue = job[JID], job[QUEUE]
  call('HSET', job_key(jid), 'data', data)
  if due <= now and named_limits.place(jid, job) then return end
  if call('ZSCORE', delayed_key(queue), jid) then
    -- One that a limit holds waits for its time first, whatever has room before.
    named_limits.withdrawn(job)
    delay_by(jid, queue, math.max(due - now, 0))
  elseif due > now then
    withdraw(job)
    call('HSET', job_key(jid), 'status', 'new', 'history', with_entry(job[HISTORY], delay_by(jid, queue, due - now)))
  end
end

-- Of a burst the last one runs, after a time in which nothing came.
local function debounce(queue, jid, data, rest, create)
  local how = rest.unique
  local entry = unique_entry(queue, how.field)
  local job = entry and unstarted(entry.jid)
  if job then
    take_over(job, data, math.min(now + how.debounce, entry.at + how.longest))
    return 'REPLACED ' .. entry.jid
  end
  rest.delay = how.debounce
  remember(queue, how.field, { jid = jid, at = now }, now + UNIQUE_LOOK_MS)
  return create()
end

-- The first one runs, and one more for all others, when its time is over. That one begins a time of its own.
local function fold(queue, jid, data, rest, create)
  local how = rest.unique
  local entry = unique_entry(queue, how.field)
  if entry and entry.next and now >= entry.at + how.time then entry = { jid = entry.next, at = entry.at + how.time } end
  local is_first = not entry or now >= entry.at + how.time or (not entry.next and doing(entry.jid) == 'canceled')
  if is_first then
    remember(queue, how.field, { jid = jid, at = now }, now + how.time)
    return create()
  end
  local over = entry.at + how.time
  local job = entry.next and unstarted(entry.next)
  if job then
    take_over(job, data, over)
    return 'REPLACED ' .. entry.next
  end
  rest.delay = over - now
  remember(queue, how.field, { jid = entry.jid, at = entry.at, next = jid }, over + how.time)
  return create()
end

-- Whether a job that was submitted before stands for a new one.
local function stands(how, submitted, state)
  if state == 'canceled' then return false end
  if how.time then return now < submitted + how.time end
  return state == 'waiting' or (state == 'running' and how.till == 'ended')
end

-- The job under an id stands for others until it has ended. Then it makes room, and its attempts count on: a worker that was
-- told to stop it may still settle the old one.
local function unique_id(jid, rest, create)
  local state, job = doing(jid)
  if not job then return create() end
  local has_ended = state ~= 'waiting' and state ~= 'running'
  if not has_ended or stands(rest.unique, tonumber(job[SUBMITTED]) or 0, state) then return 'EXISTING ' .. jid end
  die(jid, job, 'expired')
  call('DEL', job_key(jid), logs_key(jid))
  local word = create()
  if job[ATTEMPTS] then call('HSET', job_key(jid), 'attempts', job[ATTEMPTS]) end
  return word
end

-- Submits a job for which another one may stand. Returns its word.
local function submit_unique(queue, jid, data, rest, create)
  local how = rest.unique
  if not how.field then return unique_id(jid, rest, create) end
  if how.debounce then return debounce(queue, jid, data, rest, create) end
  if how.fold then return fold(queue, jid, data, rest, create) end
  local entry = unique_entry(queue, how.field)
  if entry and stands(how, entry.at, (doing(entry.jid))) then return 'EXISTING ' .. entry.jid end
  remember(queue, how.field, { jid = jid, at = now }, now + (how.time or UNIQUE_LOOK_MS))
  return create()
end
