-- How a job comes into its working queue: at its place by priority, and for a tenant only when it is its turn.
--- @include "history"
--- @include "events"

-- The counters of an idle queue go by themselves.
local MINUTES_TTL_S = 7200

-- Adds to the counters of this minute, which tell throughput.
local function count(queue, what, n)
  local key = minutes_key(queue)
  local minute = math.floor(now / 60000)
  local is_new = call('HINCRBY', key, string.format('%d:%s', minute, what), n) == n
  if not is_new then return end
  if what == 'started' then call('HSET', key, string.format('%d:first', minute), string.format('%d', now % 60000)) end
  call('EXPIRE', key, MINUTES_TTL_S)
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

local function may_run_more(queue, tenant)
  local limits = call('HMGET', settings_key(queue), 'tenant_concurrency:' .. tenant, 'tenant_concurrency')
  local limit = tonumber(limits[1] or limits[2] or '0')
  return limit == 0 or call('SCARD', tenant_running_key(queue, tenant)) < limit
end

-- The job of a tenant that stands in the working queue.
local function standing(queue, tenant)
  local jid = call('HGET', tenants_key(queue), tenant)
  return jid and jid ~= '' and jid
end

-- Whether the tenant's one place in the working queue is free; if so, it is taken.
local function takes_place(jid, queue, tenant)
  if standing(queue, tenant) then return false end
  local may = may_run_more(queue, tenant)
  call('HSET', tenants_key(queue), tenant, may and jid or '')
  return may
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

-- Gives the tenant's place in the working queue to its next parked job. A tenant without jobs is forgotten.
local function feed(queue, tenant)
  while not standing(queue, tenant) and may_run_more(queue, tenant) do
    local jid = call('ZPOPMIN', parked_key(queue, tenant))[1]
    if not jid then
      if call('EXISTS', tenant_running_key(queue, tenant)) == 0 then call('HDEL', tenants_key(queue), tenant) end
      return
    end
    local job = read_job(jid)
    if job then enter_stored(jid, job) end
  end
end

-- A tenant's job has left the working queue: claimed, or cancelled.
local function left_queue(jid, queue, tenant)
  if standing(queue, tenant) == jid then call('HSET', tenants_key(queue), tenant, '') end
end

-- A tenant's job runs no longer.
local function left_worker(jid, queue, tenant)
  call('SREM', tenant_running_key(queue, tenant), jid)
  feed(queue, tenant)
end
