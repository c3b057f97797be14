-- What workers have taken and told nothing of yet: one entry for each reservation, with the jobs in it.
--
-- Whoever changes a job that is in a reservation marks the reservation, so that the call which closes it looks at every job. Without the
-- mark nobody has: the jobs need not be looked at. Node hives know nothing of that, so where they are, all are looked at.
--- @include "events"

local function reservation_field(worker, number) return worker .. '#' .. number end

-- The worker of a field.
local function worker_of(field) return field:match('^(.*)#%d+$') or field end

local function entry_of(jids, locked_until)
  return string.format('%.0f ', locked_until) .. table.concat(jids, ' ') .. ' '
end

-- The jobs of an entry, and until when its worker has them.
local function jobs_in(entry)
  local jids, locked_until = {}, nil
  for word in entry:gmatch('[^ !]+') do
    if locked_until then jids[#jids + 1] = word else locked_until = tonumber(word) or 0 end
  end
  return jids, locked_until or 0
end

-- Where in an entry a job is, if it is there.
local function place_in(entry, jid) return entry:find(' ' .. jid .. ' ', 1, true) end

-- How many jobs of a queue are in reservations.
local function n_in_reservations(queue)
  local n = 0
  for _, entry in ipairs(call('HVALS', reserved_key(queue))) do n = n + #jobs_in(entry) end
  return n
end

local function marked(entry) return entry:sub(1, 1) == '!' and entry or '!' .. entry end

-- Whether nobody has changed any of the jobs since they were taken.
local function is_untouched(entry)
  return entry:sub(1, 1) ~= '!' and (tag ~= '' or call('EXISTS', scripts_key()) == 0)
end

-- The reservation that a job is in, by its field and entry, and where in it the job is; nothing if it is in none.
local function reservation_of(jid, queue)
  local reservations = call('HGETALL', reserved_key(queue))
  for at = 1, #reservations, 2 do
    local from, to = place_in(reservations[at + 1], jid)
    if from then return reservations[at], reservations[at + 1], from, to end
  end
end

-- Marks the reservation of a queued job, if it is in one.
local function touch(jid, queue)
  if call('ZSCORE', queue_key(queue), jid) then return end
  local field, entry = reservation_of(jid, queue)
  if field then call('HSET', reserved_key(queue), field, marked(entry)) end
end

-- Counts the attempt of a job that leaves its reservation before the worker has told of it, so that it tells too late.
local function lose_attempt(job)
  job[ATTEMPTS] = string.format('%d', (tonumber(job[ATTEMPTS] or nil) or 0) + 1)
  call('HSET', job_key(job[JID]), 'attempts', job[ATTEMPTS])
end

-- Takes a reservation from its worker. Returns the jobs that are still in it.
local function dissolve(queue, field, entry)
  local jobs = {}
  call('HDEL', reserved_key(queue), field)
  for _, jid in ipairs((jobs_in(entry))) do
    local job = read_job(jid)
    if job and job[STATUS] == 'queued' and job[QUEUE] == queue then
      lose_attempt(job)
      job[WORKER] = worker_of(field)
      jobs[#jobs + 1] = job
    end
  end
  return jobs
end

-- Takes one job out of the reservation that it is in, if it is in one.
local function leave_reservation(job)
  local field, entry, from, to = reservation_of(job[JID], job[QUEUE])
  if not field then return end
  lose_attempt(job)
  local order = { [JID] = job[JID], [QUEUE] = job[QUEUE], [WORKER] = worker_of(field), [ATTEMPTS] = job[ATTEMPTS] }
  tell_worker('canceled', order)
  call('HSET', reserved_key(job[QUEUE]), field, marked(entry:sub(1, from) .. entry:sub(to + 1)))
end
