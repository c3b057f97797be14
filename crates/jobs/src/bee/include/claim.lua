-- Taking waiting jobs for a worker.
--- @include "ready"
--- @include "reserved"
--- @include "stopping"

-- Jobs that become due in one call; the next call goes on.
local PROMOTED_MAX = 1000
-- A worker that was silent for longer has no share.
local SHARE_MS = 30000
-- When a worker with its share may ask for what the others have left.
local SHARE_AGAIN_MS = 250

-- Moves what is due from the delayed queue to the working queue.
local function promote(queue)
  local key = delayed_key(queue)
  for _, jid in ipairs(call('ZRANGEBYSCORE', key, 0, now, 'LIMIT', 0, PROMOTED_MAX)) do
    call('ZREM', key, jid)
    local job = read_job(jid)
    if job then enter_stored(jid, job) end
  end
end

-- Starts are counted in slots of a thousandth of the limit's time, so that a limit takes little room whatever it allows.
-- A slot counts until its last millisecond is over for that time: in no stretch of the time do more jobs start.
local RATE_SLOTS = 1000

local function slot_width(rate_ms) return math.ceil(rate_ms / RATE_SLOTS) end

-- The last slot that counts no more.
local function last_over(rate_ms)
  local width = slot_width(rate_ms)
  return math.floor((now - rate_ms - width + 1) / width)
end

-- How many jobs the rate limit still lets start, and when it lets the next. A member of the set is the number of all starts
-- up to the end of its slot.
local function rate_allows(queue, rate_max, rate_ms)
  local key, over = rate_key(queue), last_over(rate_ms)
  local before = call('ZREVRANGEBYSCORE', key, over, '-inf', 'LIMIT', 0, 1)[1] or '0'
  local all = call('ZRANGE', key, -1, -1)[1] or '0'
  local oldest = call('ZRANGEBYSCORE', key, '(' .. string.format('%.0f', over), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  local width = slot_width(rate_ms)
  local again_at = oldest and (tonumber(oldest) + 1) * width - 1 + rate_ms or now
  return rate_max - (tonumber(all) - tonumber(before)), again_at
end

local function spend_rate(queue, rate_ms, started)
  local key, width = rate_key(queue), slot_width(rate_ms)
  local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')
  local slot = math.max(math.floor(now / width), tonumber(last[2] or nil) or 0)
  if tonumber(last[2] or nil) == slot then call('ZREM', key, last[1]) end
  call('ZADD', key, slot, string.format('%.0f', (tonumber(last[1] or nil) or 0) + started))
  local over = call('ZREVRANGEBYSCORE', key, last_over(rate_ms), '-inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if over then call('ZREMRANGEBYSCORE', key, '-inf', '(' .. over) end
  call('PEXPIRE', key, rate_ms + width)
end

-- How many of `max` jobs this queue lets start: what, why not more, and when to ask again.
local function allowance(queue, max, settings)
  if settings.paused then return 0, 'paused' end
  local blocked, again_at
  if settings.concurrency then
    local free = settings.concurrency - call('ZCARD', locks_key(queue)) - n_in_reservations(queue) - n_stopping(queue)
    if free < max then max, blocked, again_at = math.max(free, 0), 'concurrency', first_stop_by(queue) end
  end
  if settings.rate_max then
    local allowed, next_at = rate_allows(queue, settings.rate_max, settings.rate_ms)
    if allowed < max then max, blocked, again_at = math.max(allowed, 0), 'rate', next_at end
  end
  return max, blocked, again_at
end

local function settings_of(queue)
  local s = call('HMGET', settings_key(queue), 'paused', 'concurrency', 'rate_max', 'rate_ms')
  return {
    paused = s[1] == '1', concurrency = tonumber(s[2] or nil), rate_max = tonumber(s[3] or nil), rate_ms = tonumber(s[4] or nil),
  }
end

-- Limits count the jobs that run, and those of tenants are counted one by one.
local function may_reserve(queue, settings)
  return not settings.concurrency and not settings.rate_max and call('EXISTS', tenants_key(queue)) == 0
end

-- No worker takes more than its share of what waits while others are there to take it. Parked jobs are not counted,
-- so a queue with tenants is not shared out.
local function fair_share(queue, max)
  local workers = call('ZCOUNT', bees_key(queue), now - SHARE_MS, now)
  if workers <= 1 or call('HLEN', tenants_key(queue)) > 0 then return max end
  return math.min(max, math.ceil(call('ZCARD', queue_key(queue)) / workers))
end

-- What a worker gets about a job after its id, in this order; it knows itself, the queue and the status. Every field
-- costs the server a hundredth of what a whole job does.
local N_CLAIM_FIELDS = 12
local CLAIM_DATA, CLAIM_OPTIONS, CLAIM_HISTORY, CLAIM_ATTEMPTS, CLAIM_TENANT = 1, 2, 6, 9, 11
local function read_claim_fields(key)
  return call('HMGET', key, 'data', 'options', 'submitted', 'retries', 'tags', 'history', 'parent', 'hash', 'attempts',
    'deaths', 'tenant', 'dependants')
end

local popped = entry('popped')

-- Marks one job as running on the worker. Returns what the worker gets, or nothing when there is no such job: only a
-- submission writes its data.
local function start(jid, queue, worker)
  local key = job_key(jid)
  local fields = read_claim_fields(key)
  if not (fields[CLAIM_DATA] and fields[CLAIM_OPTIONS]) then return end
  local history, attempts = with_entry(fields[CLAIM_HISTORY], popped), fields[CLAIM_ATTEMPTS]
  attempts = attempts and string.format('%d', tonumber(attempts) + 1) or '1'
  fields[CLAIM_HISTORY], fields[CLAIM_ATTEMPTS] = history, attempts
  call('HSET', key, 'worker', worker, 'status', 'running', 'history', history, 'attempts', attempts)
  local tenant = fields[CLAIM_TENANT]
  if tenant then
    left_queue(jid, queue, tenant)
    call('SADD', tenant_running_key(queue, tenant), jid)
    feed(queue, tenant)
  end
  return fields
end

-- The most entries of one score and a negative priority that are fields from those without.
local LATE_MAX = 1000

-- The first ranked jobs of one score, lowest rank first: each with its member and whether it runs before those without a
-- rank; and which jobs these are. What Node has taken out of the queue is taken out here.
local function ranked_at(queue, score, max)
  local members, of = {}, {}
  for _, member in ipairs(call('ZRANGEBYSCORE', ranked_key(queue), score, score, 'LIMIT', 0, max)) do
    local rank, jid = member:match('^([^:]*):(.*)$')
    if tonumber(call('ZSCORE', queue_key(queue), jid) or nil) == tonumber(score) then
      members[#members + 1] = { member = member, jid = jid, is_early = tonumber(rank) < RANK_OF_NONE }
      of[jid] = true
    else
      call('ZREM', ranked_key(queue), member)
    end
  end
  return members, of
end

-- The first `max` jobs of one score in the order of their ranks, appended to `jids`. Their members go to `ranked`.
local function append_group(queue, score, max, jids, ranked)
  local last = #jids + max
  local members, is_ranked = ranked_at(queue, score, max + LATE_MAX)
  local function append(is_early)
    for _, one in ipairs(members) do
      if #jids < last and one.is_early == is_early then
        jids[#jids + 1], ranked[#ranked + 1] = one.jid, one.member
      end
    end
  end
  append(true)
  if #jids < last then
    for _, jid in ipairs(call('ZRANGEBYSCORE', queue_key(queue), score, score, 'LIMIT', 0, max + #members)) do
      if #jids < last and not is_ranked[jid] then jids[#jids + 1] = jid end
    end
  end
  append(false)
end

-- Takes out the first jobs of a queue in which some are ranked.
local function pop_ranked(queue, max)
  local found, jids, ranked, at = call('ZRANGE', queue_key(queue), 0, max - 1, 'WITHSCORES'), {}, {}, 1
  while at < #found and #jids < max do
    local score = found[at + 1]
    append_group(queue, score, max - #jids, jids, ranked)
    while at < #found and found[at + 1] == score do at = at + 2 end
  end
  in_chunks('ZREM', queue_key(queue), jids)
  in_chunks('ZREM', ranked_key(queue), ranked)
  return jids
end

-- Takes out the first entries of the queue. ZPOPMIN would print their scores too, which takes longer than all the rest.
local function pop(queue, max)
  if call('EXISTS', ranked_key(queue)) == 1 then return pop_ranked(queue, max) end
  local key = queue_key(queue)
  local jids = call('ZRANGE', key, 0, max - 1)
  if #jids > 0 then call('ZREMRANGEBYRANK', key, 0, #jids - 1) end
  return jids
end

-- Takes the first jobs of the queue. An entry without a job is dropped. Returns what the worker gets, one job after
-- the other in a single list, and how many these are: the server takes its time over lists in lists.
local function take(queue, worker, max, lock_ms)
  local all, locks, jids, n = {}, {}, {}, 0
  local locked_until = string.format('%.17g', now + lock_ms)
  while n < max do
    -- A place that a claim freed may have been filled, so ask again.
    local first = pop(queue, math.min(max - n, CHUNK))
    if #first == 0 then break end
    for _, jid in ipairs(first) do
      local fields = start(jid, queue, worker)
      if fields then
        local before = n * (1 + N_CLAIM_FIELDS) + 1
        all[before] = jid
        for at = 1, N_CLAIM_FIELDS do all[before + at] = fields[at] end
        n = n + 1
        jids[n], locks[2 * n - 1], locks[2 * n] = jid, locked_until, jid
      end
    end
  end
  in_chunks('ZADD', locks_key(queue), locks)
  in_chunks('SADD', worker_locks_key(worker), jids)
  return all, n
end

-- What a worker took under this number, if it has fields nothing of it yet.
local function reserved_under(queue, worker, number)
  local reservation = call('HGET', reserved_key(queue), reservation_field(worker, number))
  return reservation and (jobs_in(reservation))
end

-- Takes the first jobs of the queue for a worker that will read_claim_fields of all of them in a moment. The jobs are not touched.
local function reserve(queue, worker, max, lock_ms, number)
  local jids = pop(queue, math.min(max, CHUNK))
  if #jids > 0 then
    call('HSET', reserved_key(queue), reservation_field(worker, number), entry_of(jids, now + lock_ms))
  end
  return jids
end

-- When the next delayed job is due, if there is one.
local function next_due(queue)
  return call('ZRANGE', delayed_key(queue), 0, 0, 'WITHSCORES')[2]
end

-- Claims up to `max` jobs. Returns what the worker gets of each, what blocks more of them, and when to ask again.
-- With a number, jobs are reserved under it where nothing limits how many may run; returns their ids besides. A worker
-- that has not heard what came of its call asks with the same number again.
local function claim(queue, worker, max, lock_ms, number)
  local again = number and reserved_under(queue, worker, number)
  if again then return { {}, '', '' }, again end
  promote(queue)
  local settings = settings_of(queue)
  local allowed, blocked, again_at = allowance(queue, max, settings)
  local jobs, n_jobs, reserved = {}, 0, {}
  if allowed > 0 then
    local share = fair_share(queue, allowed)
    if number and may_reserve(queue, settings) then
      reserved = reserve(queue, worker, share, lock_ms, number)
      n_jobs = #reserved
    else
      jobs, n_jobs = take(queue, worker, share, lock_ms)
    end
    local has_left = share < allowed and call('EXISTS', queue_key(queue)) == 1
    if has_left then blocked, again_at = 'share', now + SHARE_AGAIN_MS end
  end
  if n_jobs > 0 then
    count(queue, 'started', n_jobs)
    if settings.rate_max then
      spend_rate(queue, settings.rate_ms, n_jobs)
      if blocked == 'rate' then again_at = select(2, rate_allows(queue, settings.rate_max, settings.rate_ms)) end
    end
  end
  local due = n_jobs < max and next_due(queue)
  if due and not again_at then again_at = tonumber(due) end
  return { jobs, blocked or '', again_at and string.format('%.0f', math.ceil(again_at)) or '' }, reserved
end
