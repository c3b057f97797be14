-- How a job comes into its working queue: at its place by priority, and for a tenant only when it is its turn.
--- @include "history"
--- @include "events"
--- @include "tenants"

-- The counters of a queue that nobody sweeps go by themselves, when what they become would have been forgotten.
local MINUTES_TTL_S = 7776000

-- What this call adds to the counters of this minute, by queue. They are written together at the end: every command costs more
-- than a few more fields.
local counted = {}
local function count(queue, what, n)
  counted[queue] = counted[queue] or {}
  counted[queue][what] = (counted[queue][what] or 0) + n
end

-- Every script that counts calls this last.
local function write_counts()
  local minute = string.format('%d:', math.floor(now / 60000))
  for queue, numbers in pairs(counted) do
    local key, names, fields, values, is_new = minutes_key(queue), {}, {}, {}, false
    for what in pairs(numbers) do
      names[#names + 1], fields[#fields + 1] = what, minute .. what
    end
    local before = call('HMGET', key, unpack(fields))
    for at, what in ipairs(names) do
      values[2 * at - 1] = fields[at]
      values[2 * at] = string.format('%.0f', (tonumber(before[at] or nil) or 0) + numbers[what])
      -- Cells of times come with what became of their jobs.
      is_new = is_new or (not before[at] and what:byte() ~= 116)
      if what == 'started' and not before[at] then
        call('HSET', key, minute .. 'first', string.format('%d', now % 60000))
      end
    end
    call('HSET', key, unpack(values))
    if is_new then call('EXPIRE', key, MINUTES_TTL_S) end
  end
end

-- In a queue whose first job has waited for less than FRESH_MS, a negative priority moves a job by LATER_MS for each point.
local FRESH_MS, LATER_MS = 1000, 60000

-- The documented score: later than what is there by time, moved towards the head by priority. The order of the
-- arithmetic decides the last bits, which Node hives share with us.
--
-- It moves a job by a share of the time for which the first one has waited. In an empty queue that is nothing, and if the
-- first score is in the future, the direction is wrong. There a negative priority counts in minutes, and another one not.
local function score_for(key, priority)
  local p = math.min(tonumber(priority) or 0, 10)
  if p == 0 then return now end
  local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')
  local first = math.min(head[2] and tonumber(head[2]) or now, now)
  if p < 0 and now - first < FRESH_MS then return now - p * LATER_MS end
  return now - ((now - first) / 10) * p
end

-- Jobs of one millisecond have the same score, and one with priority 10 has that of the first. Among equal scores the lower
-- rank runs first: that of a job that was given back, then from 1 for priority 10 over 11 for none to more for negative ones.
local RANK_OF_RETURNED, RANK_OF_NONE, RANK_MAX = 0, 11, 1000000000

local function rank_of(priority)
  return math.min(RANK_OF_NONE - math.min(tonumber(priority) or 0, 10), RANK_MAX)
end

-- A rank is written so that texts sort as numbers do.
local RANK_WIDTH = 17
local function ranked_member(rank, jid) return string.format('%017.6f:', rank) .. jid end

-- Takes a job that has left the working queue out of the ranked ones.
local function unrank(jid, queue, priority)
  call('ZREM', ranked_key(queue), ranked_member(rank_of(priority), jid), ranked_member(RANK_OF_RETURNED, jid))
end

-- Adds a job to the working queue and tells the workers.
local function enqueue(jid, queue, score, rank, host)
  -- Lua would print the same number anew for each job.
  call('ZADD', queue_key(queue), score == now and now_text or score, jid)
  if rank ~= RANK_OF_NONE then
    call('ZADD', ranked_key(queue), score == now and now_text or score, ranked_member(rank, jid))
  end
  if host then announce_new(host_events_key(host), jid, queue) end
  announce_new(queue_events_key(queue), jid, queue)
end

-- Lets jobs of one priority into the working queue that all come now, which is quicker than one after the other.
local function enter_many(jids, queue, priority)
  local score, rank = score_for(queue_key(queue), priority), rank_of(priority)
  local text = score == now and now_text or string.format('%.17g', score)
  local entries, ranked = {}, {}
  for at, jid in ipairs(jids) do
    entries[2 * at - 1], entries[2 * at] = text, jid
    ranked[2 * at - 1], ranked[2 * at] = text, ranked_member(rank, jid)
  end
  in_chunks('ZADD', queue_key(queue), entries)
  if rank ~= RANK_OF_NONE then in_chunks('ZADD', ranked_key(queue), ranked) end
end

-- The host a job prefers, if it prefers one.
local function host_in(options)
  local host = options.preferredHostname
  if host and host ~= cjson.null and host ~= '' then return tostring(host) end
end

-- A score behind what came in this very millisecond: equal scores go by id, and an old parked job would pass newer ones.
local function behind_all(queue)
  local last = tonumber(call('ZRANGE', queue_key(queue), -1, -1, 'WITHSCORES')[2] or nil)
  if last and last >= now and last < now + 1 then return last + 1 / 1024 end
  return now
end

-- Lets a job into its working queue, or parks it until its tenant's turn. Returns its status and history entry.
local function enter(jid, queue, priority, host, tenant)
  if tenant and not takes_place(jid, queue, tenant) then
    local key = parked_key(queue, tenant)
    -- Only keyrack reads this score, so the priority may tell equal ones apart: by the last bits of a time.
    call('ZADD', key, score_for(key, priority) - (RANK_OF_NONE - rank_of(priority)) / 4096, jid)
    return 'new', entry('parked')
  end
  local score, rank = score_for(queue_key(queue), priority), rank_of(priority)
  if tenant and score == now and rank == RANK_OF_NONE then score = behind_all(queue) end
  enqueue(jid, queue, score, rank, host)
  return 'queued', entry('queued')
end

-- The same for a job that is stored already.
local function enter_stored(jid, job)
  local options = table_of(job[OPTIONS])
  local status, happened = enter(jid, job[QUEUE], options.priority, host_in(options), job[TENANT])
  call('HSET', job_key(jid), 'status', status, 'history', with_entry(job[HISTORY], happened))
end

-- Gives the tenant's places in the working queue to its next parked jobs. A tenant without jobs is forgotten.
local function feed(queue, tenant)
  local stood = standing(queue, tenant)
  while may_stand(queue, tenant, stood) do
    local jid = call('ZPOPMIN', parked_key(queue, tenant))[1]
    if not jid then break end
    local job = read_job(jid)
    if job then enter_stored(jid, job) end
    stood = standing(queue, tenant)
  end
  if stood ~= '' or call('EXISTS', parked_key(queue, tenant), tenant_running_key(queue, tenant)) > 0 then return end
  call('HDEL', tenants_key(queue), tenant)
  call('ZREM', tenant_wakes_key(queue), tenant)
end

-- Looks at the tenants whose rate lets another job start.
local function wake_tenants(queue)
  for _, tenant in ipairs(call('ZRANGEBYSCORE', tenant_wakes_key(queue), '-inf', now, 'LIMIT', 0, WOKEN_MAX)) do
    call('ZREM', tenant_wakes_key(queue), tenant)
    feed(queue, tenant)
  end
end
