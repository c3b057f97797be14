-- Taking waiting jobs for a worker.
--- @include "named_limits"
--- @include "rate"
--- @include "reserved"
--- @include "stopping"
--- @include "unstarted"

-- Jobs that become due in one call; the next call goes on.
local PROMOTED_MAX = 1000
-- A worker that was silent for longer has no share.
local SHARE_MS = 30000
-- When a worker with its share may ask for what the others have left.
local SHARE_AGAIN_MS = 250
-- When a worker may ask again that has a job which runs alone, or that may not start such a job because it has others.
local ALONE_AGAIN_MS = 1000
-- When a job that has to run alone waits for longer, busy workers get no more until one of them is free for it.
local ALONE_WAIT_MS = 10000
-- The most jobs that one call passes by because they have to run alone.
local SKIPPED_MAX = 100

-- Moves what is due from the delayed queue to the working queue.
local function promote(queue)
  local key = delayed_key(queue)
  for _, jid in ipairs(call('ZRANGEBYSCORE', key, 0, now, 'LIMIT', 0, PROMOTED_MAX)) do
    call('ZREM', key, jid)
    local job = read_job(jid)
    local place = job and named_limits.place(jid, job)
    if place then
      named_limits.let_in(jid, place)
    elseif job then
      enter_stored(jid, job)
    end
  end
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
    local allowed, next_at = rate_allows(rate_key(queue), settings.rate_max, settings.rate_ms)
    if allowed < max then max, blocked, again_at = math.max(allowed, 0), 'rate', next_at end
  end
  return max, blocked, again_at
end

local function settings_of(queue)
  local s = call('HMGET', settings_key(queue), 'paused', 'concurrency', 'rate_max', 'rate_ms', 'timeout_ms', 'tenant_rates',
    'named_limits')
  default_timeouts[queue] = tonumber(s[5] or nil) or false
  return {
    paused = s[1] == '1', concurrency = tonumber(s[2] or nil), rate_max = tonumber(s[3] or nil), rate_ms = tonumber(s[4] or nil),
    tenant_rates = s[6] == '1', named_limits = s[7] == '1',
  }
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
local CLAIM_DATA, CLAIM_OPTIONS, CLAIM_HISTORY, CLAIM_ATTEMPTS, CLAIM_DEATHS, CLAIM_TENANT = 1, 2, 6, 9, 10, 11

-- For workers that cannot let a job run alone by themselves, the claim does: `after` so many lost workers a job starts only
-- when the worker has no other, and the worker gets no other beside it. `held` is how many jobs the worker has, `skipped`
-- are jobs that it may not start now. Without `after` the worker takes care of that. It is one local: a script has at most 200
-- at its left margin.
local isolation = { held = 0, skipped = {} }

-- Whether the worker has a job that runs alone.
function isolation.runs_alone(worker)
  if isolation.held ~= 1 then return false end
  local job = call('HMGET', job_key(call('SMEMBERS', worker_locks_key(worker))[1]), 'alone', 'attempts')
  return job[1] and job[1] == job[2]
end

-- Whether a job has to run alone; if it cannot now, it is skipped.
function isolation.is_suspect(jid, deaths)
  if not isolation.after or (tonumber(deaths or nil) or 0) < isolation.after then return false end
  if isolation.held > 0 then isolation.skipped[#isolation.skipped + 1] = jid end
  return true
end

-- Whether the worker gets nothing beside what it has, since the first job has waited for long to run alone. What was skipped
-- is among the ranked jobs, where Node may have left an entry of a job that it took.
function isolation.is_draining(queue)
  if isolation.held == 0 then return false end
  local member = call('ZRANGE', ranked_key(queue), 0, 0)[1]
  local jid = member and member:sub(RANK_WIDTH + 2)
  if not jid or not call('ZSCORE', queue_key(queue), jid) then return false end
  local job = call('HMGET', job_key(jid), 'deaths', 'history')
  if (tonumber(job[1] or nil) or 0) < isolation.after then return false end
  local since = (job[2] or ''):match('.*"timestamp":(%d+)')
  return now - (tonumber(since) or 0) > ALONE_WAIT_MS
end

-- Puts what was skipped back to the head, and tells nobody: who is told would skip it too.
function isolation.put_back_skipped(queue)
  for _, jid in ipairs(isolation.skipped) do
    local score = math.min(score_for(queue_key(queue), 10), now)
    call('ZADD', queue_key(queue), score, jid)
    call('ZADD', ranked_key(queue), score, ranked_member(RANK_OF_RETURNED, jid))
  end
end

-- Marks one job as running on the worker. Returns what the worker gets, or nothing when there is no such job, since only a
-- submission writes its data, or when its tenant may not start one, or a limit that it names does not let it. A reserved job
-- was taken when no such limit was set, and does not count.
local function start(jid, queue, worker, was_reserved)
  local key = job_key(jid)
  local fields = call('HMGET', key, 'data', 'options', 'submitted', 'retries', 'tags', 'history', 'parent', 'hash', 'attempts',
    'deaths', 'tenant', 'dependants')
  if not (fields[CLAIM_DATA] and fields[CLAIM_OPTIONS]) then return end
  local is_alone = isolation.is_suspect(jid, fields[CLAIM_DEATHS])
  if is_alone and isolation.held > 0 then return end
  local tenant = fields[CLAIM_TENANT]
  if tenant and tenant_allows(queue, tenant, 1) < 1 then
    -- It is the first of its tenant's when one may.
    left_queue(jid, queue, tenant)
    call('ZADD', parked_key(queue, tenant), 0, jid)
    call('HSET', key, 'status', 'new', 'history', with_entry(fields[CLAIM_HISTORY], entry('parked')))
    return
  end
  local limits = named_limits.of(fields[CLAIM_OPTIONS])
  local full, again_at = named_limits.full(queue, was_reserved and {} or limits)
  if full then
    local happened = named_limits.hold(jid, queue, limits, full, again_at)
    call('HSET', key, 'status', 'new', 'history', with_entry(fields[CLAIM_HISTORY], happened))
    if tenant then
      left_queue(jid, queue, tenant)
      feed(queue, tenant)
    end
    return
  end
  local history, attempts = with_entry(fields[CLAIM_HISTORY], entry('popped')), fields[CLAIM_ATTEMPTS]
  attempts = attempts and string.format('%d', tonumber(attempts) + 1) or '1'
  fields[CLAIM_HISTORY], fields[CLAIM_ATTEMPTS] = history, attempts
  call('HSET', key, 'worker', worker, 'status', 'running', 'history', history, 'attempts', attempts)
  isolation.held = isolation.held + 1
  if is_alone then
    call('HSET', key, 'alone', attempts)
    isolation.is_over = true
  end
  begin_timeout(jid, queue, fields[CLAIM_OPTIONS])
  if tenant then
    left_queue(jid, queue, tenant)
    call('SADD', tenant_running_key(queue, tenant), jid)
    local rules = tenant_rules(queue, tenant)
    if rules.rate_max then spend_rate(tenant_rate_key(queue, tenant, rules.rate_ms), rules.rate_ms, 1) end
    feed(queue, tenant)
  end
  named_limits.began(jid, queue, limits, was_reserved)
  return fields
end

-- The most ranked entries that one call reads beyond those it needs: stale ones, which Node has taken out of the queue, and
-- those of a negative priority, which have to be told apart from jobs without one.
local RANKED_EXTRA = 1000

-- Takes the first jobs out of the queue. What it needs stands beside it: a script has at most 200 locals at its left margin.
local pop
do
  -- The job of a ranked member, and whether it runs before those of its score that have no rank.
  local function of_member(member)
    return member:sub(RANK_WIDTH + 2), tonumber(member:sub(1, RANK_WIDTH)) < RANK_OF_NONE
  end

  local function append_all(list, more)
    for _, value in ipairs(more or {}) do list[#list + 1] = value end
  end

  -- Appends the jobs of whole groups of one score each to `jids`: of a group first the early ones by rank, then those without a
  -- rank, then the late ones. `found` has jobs and scores in turns, `members` the ranked ones among them, both in order.
  local function append_groups(found, last, members, jids)
    local score_of, is_ranked, early, late = {}, {}, {}, {}
    for at = 1, last, 2 do score_of[found[at]] = found[at + 1] end
    for _, member in ipairs(members) do
      local jid, is_early = of_member(member)
      local score, groups = score_of[jid], is_early and early or late
      if score and not is_ranked[jid] then
        groups[score] = groups[score] or {}
        append_all(groups[score], { jid })
        is_ranked[jid] = true
      end
    end
    local at = 1
    while at < last do
      local score = found[at + 1]
      append_all(jids, early[score])
      while at < last and found[at + 1] == score do
        if not is_ranked[found[at]] then jids[#jids + 1] = found[at] end
        at = at + 2
      end
      append_all(jids, late[score])
    end
  end

  -- The first `max` jobs of a score that may have more, appended to `jids`, and what to take out of the ranked ones, appended to
  -- `members`: theirs, and what Node has taken out of the queue.
  local function append_first(queue, score, max, jids, members)
    local of_score = call('ZRANGEBYSCORE', ranked_key(queue), score, score, 'LIMIT', 0, max + RANKED_EXTRA)
    local is_ranked = {}
    local function append(early)
      for _, member in ipairs(of_score) do
        local jid, is_early = of_member(member)
        is_ranked[jid] = true
        if is_early == early and #jids < max then
          members[#members + 1] = member
          local is_there = tonumber(call('ZSCORE', queue_key(queue), jid) or nil) == tonumber(score)
          if is_there then jids[#jids + 1] = jid end
        end
      end
    end
    append(true)
    if #jids == max then return end
    for _, jid in ipairs(call('ZRANGEBYSCORE', queue_key(queue), score, score, 'LIMIT', 0, max + #of_score)) do
      if #jids < max and not is_ranked[jid] then jids[#jids + 1] = jid end
    end
    append(false)
  end

  -- Takes out the first jobs of a queue in which some are ranked. All jobs of a score are among the first `max` entries, unless
  -- it is the last one there, of which more may follow.
  local function pop_ranked(queue, max)
    local found, jids = call('ZRANGE', queue_key(queue), 0, max - 1, 'WITHSCORES'), {}
    if #found == 0 then return jids end
    local cut, last = found[#found], #found
    if #found == 2 * max then
      while last > 0 and found[last] == cut do last = last - 2 end
    else
      cut = nil
    end
    local members = call('ZRANGEBYSCORE', ranked_key(queue), '-inf', cut and '(' .. cut or '+inf', 'LIMIT', 0, max + RANKED_EXTRA)
    append_groups(found, last, members, jids)
    if #jids > 0 then call('ZREMRANGEBYRANK', queue_key(queue), 0, #jids - 1) end
    if cut then
      local first = {}
      append_first(queue, cut, max - #jids, first, members)
      in_chunks('ZREM', queue_key(queue), first)
      append_all(jids, first)
    end
    in_chunks('ZREM', ranked_key(queue), members)
    return jids
  end

  -- Takes out the first entries of the queue. ZPOPMIN would print their scores too, which takes longer than all the rest.
  pop = function(queue, max)
    if call('EXISTS', ranked_key(queue)) == 1 then return pop_ranked(queue, max) end
    local key = queue_key(queue)
    local jids = call('ZRANGE', key, 0, max - 1)
    if #jids > 0 then call('ZREMRANGEBYRANK', key, 0, #jids - 1) end
    return jids
  end
end

-- Takes the first jobs of the queue. An entry without a job is dropped. Returns what the worker gets, one job after
-- the other in a single list, and how many these are: the server takes its time over lists in lists.
local function take(queue, worker, max, lock_ms)
  local all, locks, jids, n = {}, {}, {}, 0
  local locked_until = string.format('%.17g', now + lock_ms)
  while n < max and not isolation.is_over and #isolation.skipped < SKIPPED_MAX
    and named_limits.n_held < HELD_MAX do
    -- A place that a claim freed may have been filled, so ask again. Only the very first job can be one that runs alone.
    local first = pop(queue, isolation.after and isolation.held == 0 and 1 or math.min(max - n, CHUNK))
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
  isolation.put_back_skipped(queue)
  return all, n
end

-- What a worker took under this number, if it has told nothing of it yet.
local function reserved_under(queue, worker, number)
  local reservation = call('HGET', reserved_key(queue), reservation_field(worker, number))
  return reservation and (jobs_in(reservation))
end

-- Takes the first jobs of the queue for a worker that will tell of all of them in a moment. The jobs are not touched.
local function reserve(queue, worker, max, lock_ms, number)
  local jids = pop(queue, math.min(max, CHUNK))
  if #jids > 0 then
    call('HSET', reserved_key(queue), reservation_field(worker, number), entry_of(jids, now + lock_ms))
  end
  return jids
end

-- What a claim brings: what the worker gets of each job, what blocks more of them, when to ask again, and how long an
-- attempt may take at a job that says nothing about it.
local function claim_reply(queue, jobs, blocked, again_at)
  local again = again_at and string.format('%.0f', math.ceil(again_at)) or ''
  return { jobs, blocked or '', again, default_timeout(queue) or 0 }
end

-- Claims up to `max` jobs. Returns what a claim brings.
-- With a number, jobs are reserved under it where nothing limits how many may run; returns their ids besides. A worker
-- that has not heard what came of its call asks with the same number again. `alone_after` is how many workers a job has lost
-- that the worker is given only if it has no other.
local function claim(queue, worker, max, lock_ms, number, alone_after)
  local again = number and reserved_under(queue, worker, number)
  if again then return claim_reply(queue, {}), again end
  isolation.after = tonumber(alone_after)
  if isolation.after then
    isolation.held = call('SCARD', worker_locks_key(worker))
    if isolation.runs_alone(worker) then return claim_reply(queue, {}, 'quarantine', now + ALONE_AGAIN_MS), {} end
  end
  promote(queue)
  -- Those that are left might be handed out, so they come first.
  if end_unstarted(queue) then return claim_reply(queue, {}, nil, now), {} end
  local settings = settings_of(queue)
  if settings.tenant_rates then wake_tenants(queue) end
  local allowed, blocked, again_at = allowance(queue, max, settings)
  local jobs, n_jobs, reserved = {}, 0, {}
  if allowed > 0 and isolation.after and isolation.is_draining(queue) then
    allowed, blocked, again_at = 0, 'quarantine', now + ALONE_AGAIN_MS
  end
  if allowed > 0 then
    local share = fair_share(queue, allowed)
    -- Limits count the jobs that run, and those of tenants and of limits that jobs name are counted one by one.
    local is_limited = settings.concurrency or settings.rate_max or settings.named_limits
    if number and not is_limited and call('EXISTS', tenants_key(queue)) == 0 then
      reserved = reserve(queue, worker, share, lock_ms, number)
      n_jobs = #reserved
    else
      jobs, n_jobs = take(queue, worker, share, lock_ms)
    end
    local has_left = share < allowed and call('EXISTS', queue_key(queue)) == 1
    if has_left then blocked, again_at = 'share', now + SHARE_AGAIN_MS end
    if named_limits.n_held >= HELD_MAX then again_at = now end
    if #isolation.skipped > 0 or isolation.is_over then blocked, again_at = 'quarantine', now + ALONE_AGAIN_MS end
  end
  if n_jobs > 0 then
    count(queue, 'started', n_jobs)
    if settings.rate_max then
      spend_rate(rate_key(queue), settings.rate_ms, n_jobs)
      if blocked == 'rate' then again_at = select(2, rate_allows(rate_key(queue), settings.rate_max, settings.rate_ms)) end
    end
  end
  if n_jobs < max and not again_at then
    -- When the next delayed job is due, or a tenant may start its next.
    local due = tonumber(call('ZRANGE', delayed_key(queue), 0, 0, 'WITHSCORES')[2] or nil)
    local wake = settings.tenant_rates and tonumber(call('ZRANGE', tenant_wakes_key(queue), 0, 0, 'WITHSCORES')[2] or nil)
    again_at = due and wake and math.min(due, wake) or due or wake or nil
  end
  return claim_reply(queue, jobs, blocked, again_at), reserved
end
