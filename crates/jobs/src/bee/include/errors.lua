-- Failures in groups: those of one cause have one fingerprint, which the caller makes of their messages.
--
-- What this call adds is collected and written together at the end. The groups that were seen least and last make room for new
-- ones; what was counted of them is added to the group `other`.
--- @include "enter"

-- Of failures that scripts themselves find. `errors/fingerprint.rs` makes the same of their messages.
local function timed_out() return { kind = 'TimeoutError', text = 'Worker method timed out after # ms' } end
local function worker_lost() return { kind = '', text = '# workers were lost while they ran this job, the last was <text>' } end

-- What this call has found: a function that adds a failure, and one that writes all. Nothing until something has failed, so
-- that other calls are spared the functions of all this; and one local, since a script has at most 200 at its left margin.
local failures

-- Counts a failed attempt: its job, its fingerprint, a sample of its message, and whether the job is not tried again.
local function add_failure(...)
  if failures then return failures.add(...) end
  -- Groups of a queue. One more takes some 1.5 kB, and 9 kB at most.
  local GROUPS_MAX = 100
  -- What is kept of each group: jobs; tenants, hosts and versions; hours.
  local JOBS_MAX, NAMES_MAX, HOURS_MAX = 5, 10, 24
  -- A group that was seen twice as often is kept as if it had been seen so much later.
  local DOUBLING_MS = 21600000
  local HOUR_MS, KEPT_S = 3600000, 2592000
  local FORGOTTEN_MAX = 100
  local LISTS = { 'tenants', 'hosts', 'versions' }

  local found, order, in_other, versions = {}, {}, {}, {}
  -- Failures that are counted as such in this call, by group.
  local finals = {}

  local function id_of(failure)
    -- The number of digits is `ID_LEN` of `errors/fingerprint.rs`.
    failure.id = failure.id or redis.sha1hex(failure.kind .. '\n' .. failure.text):sub(1, 12)
    return failure.id
  end

  -- Puts a name in front of a list of different names, and drops the last of too many.
  local function put_first(list, name, max)
    for at = #list, 1, -1 do
      if list[at] == name then table.remove(list, at) end
    end
    table.insert(list, 1, name)
    list[max + 1] = nil
  end

  local function put_job(jobs, job)
    for at = #jobs, 1, -1 do
      if type(jobs[at]) ~= 'table' or jobs[at].jid == job.jid then table.remove(jobs, at) end
    end
    table.insert(jobs, 1, job)
    jobs[JOBS_MAX + 1] = nil
  end

  -- What a worker says that its version is.
  local function version_of(queue, worker)
    if versions[worker] == nil then
      local version = table_of(call('HGET', workers_key(queue), worker)).version
      versions[worker] = type(version) == 'string' and version or false
    end
    return versions[worker]
  end

  local function new_group(failure)
    return {
      kind = failure.kind, text = failure.text, message = '', count = 0, failed = 0, jobs = {}, hours = {},
      tenants = {}, hosts = {}, versions = {},
    }
  end

  -- Where this call collects a group.
  local function collected(queue, failure)
    local id = id_of(failure)
    if not found[id] and #order >= GROUPS_MAX and call('HEXISTS', errors_key(queue), id) == 0 then
      in_other[id] = true
      id, failure = 'other', { kind = '', text = '' }
    end
    if not found[id] then
      found[id] = new_group(failure)
      if id ~= 'other' then order[#order + 1] = id end
    end
    return found[id]
  end

  -- Counts the failure of an attempt, and notes its group in the job. `is_final` if the job is not tried again. `at` is given for
  -- a failure that somebody else has stored, which is not counted as one of this queue's.
  local function add(job, failure, sample, is_final, at)
    local group, hour = collected(job[QUEUE], failure), string.format('%d', math.floor((at or now) / HOUR_MS))
    group.message = sample
    group.count, group.failed = group.count + 1, group.failed + (is_final and 1 or 0)
    if is_final and not at then finals[group] = (finals[group] or 0) + 1 end
    group.first, group.last = math.min(group.first or at or now, at or now), math.max(group.last or 0, at or now)
    group.hours[hour] = (group.hours[hour] or 0) + 1
    put_job(group.jobs, { jid = job[JID], at = at or now })
    if job[TENANT] then put_first(group.tenants, job[TENANT], NAMES_MAX) end
    local worker = job[WORKER] or ''
    if worker ~= '' then
      put_first(group.hosts, worker:match('^[^:]*'), NAMES_MAX)
      local version = version_of(job[QUEUE], worker)
      if version then put_first(group.versions, version, NAMES_MAX) end
    end
    call('HSET', job_key(job[JID]), 'errorGroup', id_of(failure))
  end

  local function drop_old_hours(hours)
    local numbers = {}
    for hour in pairs(hours) do numbers[#numbers + 1] = tonumber(hour) end
    table.sort(numbers)
    for at = 1, #numbers - HOURS_MAX do hours[string.format('%d', numbers[at])] = nil end
  end

  -- Adds numbers and hours of a group to another one.
  local function add_counts(group, more)
    group.count, group.failed = (tonumber(group.count) or 0) + more.count, (tonumber(group.failed) or 0) + more.failed
    group.first = math.min(tonumber(group.first) or more.first, more.first)
    group.last = math.max(tonumber(group.last) or 0, more.last)
    group.hours = type(group.hours) == 'table' and group.hours or {}
    for hour, n in pairs(more.hours) do group.hours[hour] = (tonumber(group.hours[hour]) or 0) + (tonumber(n) or 0) end
    drop_old_hours(group.hours)
  end

  -- Other programs may have written what makes no sense.
  local function has_counts(group)
    return tonumber(group.count) and tonumber(group.failed) and tonumber(group.first) and tonumber(group.last)
      and type(group.hours) == 'table'
  end

  local function merged(group, more)
    if not (group.text and has_counts(group) and type(group.jobs) == 'table') then return more end
    add_counts(group, more)
    group.message = more.message
    for at = #more.jobs, 1, -1 do put_job(group.jobs, more.jobs[at]) end
    for _, list in ipairs(LISTS) do
      group[list] = type(group[list]) == 'table' and group[list] or {}
      for at = #more[list], 1, -1 do put_first(group[list], more[list][at], NAMES_MAX) end
    end
    return group
  end

  -- Whether a version is another one or a later one: part by part, and numbers as numbers.
  local function has_reached(version, wanted)
    local next_part, next_wanted = version:gmatch('[^.+_-]+'), wanted:gmatch('[^.+_-]+')
    while true do
      local part, other = next_part(), next_wanted()
      if not other then return true end
      if not part then return false end
      local n, m = tonumber(part:match('^v?(%d+)$') or nil), tonumber(other:match('^v?(%d+)$') or nil)
      if n and m and n ~= m then return n > m end
      if not (n and m) and part ~= other then return false end
    end
  end

  -- Whether nobody wants to hear of a group now. A mute that is over goes.
  local function is_muted(queue, id, group)
    local mute = call('HGET', error_mutes_key(queue), id)
    if not mute then return false end
    mute = table_of(mute)
    local is_over = now >= (tonumber(mute.ends_at) or 0)
    for _, version in ipairs(mute.version and group.versions or {}) do
      is_over = is_over or has_reached(version, mute.version)
    end
    if is_over then call('HDEL', error_mutes_key(queue), id) end
    return not is_over
  end

  local function rank_of_group(group)
    local _, doublings = math.frexp(group.count)
    return string.format('%.0f', group.last + doublings * DOUBLING_MS)
  end

  local function forget_old(key, ranks)
    local old = call('ZRANGEBYSCORE', ranks, '-inf', now - KEPT_S * 1000, 'LIMIT', 0, FORGOTTEN_MAX)
    in_chunks('HDEL', key, old)
    in_chunks('ZREM', ranks, old)
    return #old
  end

  -- Writes what was found in a queue. Every script that counts failures does so before it writes its counts.
  local function write(queue)
    if #order == 0 then return end
    local key, ranks = errors_key(queue), error_ranks_key(queue)
    local n_groups = call('EXISTS', key) == 1 and call('ZCARD', ranks) - forget_old(key, ranks) or 0
    local other, n_folded = found.other, 0
    for _ in pairs(in_other) do n_folded = n_folded + 1 end

    local function fold_rarest()
      local rarest = call('ZRANGE', ranks, 0, 0)[1]
      local group = table_of(call('HGET', key, rarest))
      call('HDEL', key, rarest)
      call('ZREM', ranks, rarest)
      n_groups, n_folded = n_groups - 1, n_folded + 1
      if not has_counts(group) then return end
      other = other or new_group({ kind = '', text = '' })
      add_counts(other, group)
    end

    for _, id in ipairs(order) do
      local stored = call('HGET', key, id)
      local group = merged(table_of(stored), found[id])
      if is_muted(queue, id, found[id]) and finals[found[id]] then count(queue, 'muted', finals[found[id]]) end
      if not stored then
        while n_groups >= GROUPS_MAX do fold_rarest() end
        n_groups = n_groups + 1
      end
      call('HSET', key, id, quoted(group))
      call('ZADD', ranks, rank_of_group(group), id)
    end
    if other then
      local stored = table_of(call('HGET', key, 'other'))
      add_counts(stored, other)
      call('HSET', key, 'other', quoted({
        count = stored.count, failed = stored.failed, first = stored.first, last = stored.last, hours = stored.hours,
        folded = (tonumber(stored.folded) or 0) + n_folded,
      }))
    end
    call('EXPIRE', key, KEPT_S)
    call('EXPIRE', ranks, KEPT_S)
  end

  failures = { add = add, write = write }
  add(...)
end
