-- How long attempts waited and ran, counted in the open minutes of a queue.
--
-- Each attempt that completes or fails is counted once, in the cell of two buckets: how long it waited, and how long it ran.
-- Bucket i ends at 2^(i/2) ms. `times/histogram.rs` and `times/attempt.rs` have the same rules.
--- @include "enter"

local BUCKET_LAST = 59
-- The slowest attempts that are kept of each hour, of how many hours, and for how long after the last of them.
local SLOWEST_MAX, SLOWEST_HOURS, SLOWEST_TTL_S = 10, 24, 90000

-- What this call has to add. A script has at most 200 locals at its left margin, so this one has few.
local times = { cells = {}, wait_ms = 0, run_ms = 0, slow = {} }

-- Adds so many attempts that waited and ran for so long.
local function observe(wait, run, n)
  local function bucket_of(ms)
    if ms <= 1 then return 0 end
    local mantissa, exponent = math.frexp(ms)
    local bucket = 2 * exponent
    if mantissa == 0.5 then
      bucket = bucket - 2
    elseif mantissa * mantissa <= 0.5 then
      bucket = bucket - 1
    end
    return math.min(bucket, BUCKET_LAST)
  end
  local cell = bucket_of(wait) .. '.' .. bucket_of(run)
  times.cells[cell] = (times.cells[cell] or 0) + n
  times.wait_ms, times.run_ms = times.wait_ms + n * wait, times.run_ms + n * run
end

-- Counts the attempt of a job that ends now, unless nobody has noted its start. It has waited since the first entry that says
-- that it was ready directly before the one that it was taken.
local function attempt_ended(job)
  local waits_since, ready_at, started_at
  local function happened(event, at)
    if event == 'queued' or event == 'parked' or event == 'released' then
      waits_since = waits_since or at
    else
      if event == 'popped' then ready_at, started_at = waits_since or at, at end
      waits_since = nil
    end
  end
  -- Reading JSON would take longer than the rest. Returns false if somebody else has written an entry, or the history was
  -- shortened: then the members of an entry may stand in any order.
  local function scan(history)
    local from, to = history:find('"event":"', 1, true)
    while from do
      local event, at = history:match('^(%a+)","timestamp":(%d+)', to + 1)
      if not at or history:byte(from - 1) ~= 123 then return false end
      happened(event, tonumber(at))
      from, to = history:find('"event":"', to, true)
    end
    return true
  end
  if not scan(job[HISTORY] or '') then
    waits_since, ready_at, started_at = nil, nil, nil
    for _, old in ipairs(table_of(job[HISTORY])) do
      if type(old) == 'table' then happened(old.event, tonumber(old.timestamp) or now) end
    end
  end
  if not started_at then return end
  local run = math.max(math.floor(now - started_at), 0)
  observe(math.max(math.floor(started_at - ready_at), 0), run, 1)
  times.slow[#times.slow + 1] = { jid = job[JID], run_ms = run, at = now }
end

-- Counts what this call has added.
local function count_times(queue)
  -- Puts the slowest attempts of this call among those of the hour.
  local function write_slowest()
    local key, hour = slowest_key(queue), math.floor(now / 3600000)
    local field = string.format('%d', hour)
    local stored = call('HGET', key, field)
    local over, jobs = stored and tonumber(stored:match('^{"over":(%d+)')) or -1, nil
    for _, attempt in ipairs(times.slow) do
      if attempt.run_ms > over then
        jobs = jobs or table_of(stored).jobs or {}
        jobs[#jobs + 1] = attempt
      end
    end
    if not jobs then return end
    table.sort(jobs, function(a, b) return a.run_ms > b.run_ms end)
    for at = #jobs, SLOWEST_MAX + 1, -1 do jobs[at] = nil end
    local least = #jobs == SLOWEST_MAX and string.format('"over":%.0f,', jobs[SLOWEST_MAX].run_ms) or ''
    call('HSET', key, field, '{' .. least .. '"jobs":' .. quoted(jobs) .. '}')
    if stored then return end
    call('EXPIRE', key, SLOWEST_TTL_S)
    for _, other in ipairs(call('HKEYS', key)) do
      if (tonumber(other) or 0) <= hour - SLOWEST_HOURS then call('HDEL', key, other) end
    end
  end

  for cell, n in pairs(times.cells) do
    if n ~= 0 then count(queue, 't' .. cell, n) end
  end
  if times.wait_ms > 0 then count(queue, 'wait_ms', times.wait_ms) end
  if times.run_ms > 0 then count(queue, 'run_ms', times.run_ms) end
  if #times.slow > 0 then write_slowest() end
end
