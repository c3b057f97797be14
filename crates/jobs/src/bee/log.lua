--[[
  Adds lines to the logs of jobs, and stores the progress of jobs.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 lines_max   5 bytes_max   6 known_only   7 entries...
        The key's job is the first one. Each entry is: jid, attempt, number of lines that the worker dropped, progress as JSON or
        empty, number of lines, and the lines, each as JSON. With known_only 1 the attempt must have begun; without, it may be
        the next one, which a worker with a reservation has not reported yet.
  Derives the keys of the jobs under the same hash tag.
  Returns a word for each entry: ok; GONE when there is no such job; LATER when the attempt has not begun.
]]
--- @include "logs"

lines_max, bytes_max = tonumber(lines_max), tonumber(bytes_max)

-- The head of a log, and how many lines it has.
local function head_of(jid)
  local head = table_of(call('LINDEX', logs_key(jid), 0))
  return {
    next = tonumber(head.next) or 0, bytes = tonumber(head.bytes) or 0, dropped = tonumber(head.dropped) or 0,
  }, math.max(call('LLEN', logs_key(jid)) - 1, 0)
end

-- How many of the oldest lines exceed the limits. The last line stays, however long it is.
local function surplus(jid, head, n_lines)
  local n = math.max(n_lines - lines_max, 0)
  local at = 0
  while at < n or (head.bytes > bytes_max and at < n_lines - 1) do
    -- The head has left the list.
    for _, line in ipairs(call('LRANGE', logs_key(jid), at, at + 99)) do
      if at >= n and head.bytes <= bytes_max then break end
      head.bytes, at = head.bytes - #line, at + 1
    end
  end
  return math.max(math.min(at, n_lines - 1), 0)
end

-- Adds lines at the end, and removes the oldest ones beyond the limits: people ask how an attempt ended.
local function append(jid, job, lines, n_dropped)
  local key, head, n_lines = logs_key(jid), head_of(jid)
  for _, line in ipairs(lines) do head.bytes = head.bytes + #line end
  head.next, n_lines = head.next + #lines, n_lines + #lines
  call('LPOP', key)
  in_chunks('RPUSH', key, lines)
  local n_old = surplus(jid, head, n_lines)
  if n_old > 0 then call('LTRIM', key, n_old, -1) end
  head.dropped = head.dropped + n_old + n_dropped
  call('LPUSH', key, string.format('{"next":%.0f,"bytes":%.0f,"dropped":%.0f}', head.next, math.max(head.bytes, 0), head.dropped))
  -- The log of a job that will expire expires with it.
  local left = call('PTTL', job_key(jid))
  if left >= 0 then call('PEXPIRE', key, left) else keep_log(jid, job) end
  local channel = log_events_key(jid)
  if is_heard(channel) then publish(channel, string.format('{"next":%.0f}', head.next)) end
end

-- Stores the progress of a job that still runs in that attempt.
local function store_progress(jid, job, attempt, progress)
  if job[STATUS] == 'running' and (job[ATTEMPTS] or '0') == attempt then
    call('HSET', job_key(jid), 'progress', progress)
  end
end

local function add(jid, attempt, n_dropped, progress, lines)
  local job = read_job(jid)
  if not job then return 'GONE' end
  local newest = (tonumber(job[ATTEMPTS] or '0')) + (known_only == '1' and 0 or 1)
  if tonumber(attempt) > newest then return 'LATER' end
  if #lines > 0 or n_dropped > 0 then append(jid, job, lines, n_dropped) end
  if progress ~= '' then store_progress(jid, job, attempt, progress) end
  return 'ok'
end

local entries, at = {}, ENTRIES_AT
while at < #ARGV do
  local lines, first = {}, at + 5
  for place = 1, tonumber(ARGV[at + 4]) do lines[place] = ARGV[first + place - 1] end
  entries[#entries + 1] = { jid = ARGV[at], attempt = ARGV[at + 1], dropped = tonumber(ARGV[at + 2]), progress = ARGV[at + 3], lines = lines }
  -- Every key is read before the first is written.
  call('EXISTS', job_key(ARGV[at]), logs_key(ARGV[at]))
  at = first + #lines
end
local words = {}
for place, new in ipairs(entries) do words[place] = add(new.jid, new.attempt, new.dropped, new.progress, new.lines) end
return words
