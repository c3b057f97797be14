-- Limits that jobs name: how many jobs that name one run at once, and how many start in some time.
--
-- A job that such a limit holds is delayed, and stands in the list of the limit. It is let in when another job of the limit ends,
-- or when the rate has room. It comes to the place that it had before, so those that are held keep their order. Its delay ends
-- in any case: at its turn by the rate, or after HELD_LOOK_MS. So the list may lose a job, or have one too many.
--- @include "ready"

-- After so long a job is looked at again although no other has ended.
local HELD_LOOK_MS = 60000
-- Jobs that one call holds; the next call goes on.
local HELD_MAX = 1000
-- Held jobs that are looked through for one that is still delayed.
local HELD_WOKEN_MAX = 100
-- The list of a limit lives so much longer than the last delay in it.
local HELD_KEPT_MS = 86400000

-- It is one local: a script has at most 200 at its left margin.
local named_limits = { rules = {}, n_held = 0 }

-- The limits that a job names. Reading JSON would take longer than the rest. Other programs store options too: what is no name
-- is left out.
function named_limits.of(options)
  if not (options and options:find('"limits":', 1, true)) then return {} end
  local listed, names = table_of(options).limits, {}
  for _, name in ipairs(type(listed) == 'table' and listed or {}) do
    if type(name) == 'string' and name ~= '' then names[#names + 1] = name end
  end
  return names
end

function named_limits.rules_of(queue, name)
  local known = queue .. '\n' .. name
  if not named_limits.rules[known] then
    local s = call('HMGET', settings_key(queue), 'limit_concurrency:' .. name, 'limit_rate_max:' .. name, 'limit_rate_ms:' .. name)
    named_limits.rules[known] = {
      concurrency = tonumber(s[1] or nil), rate_max = tonumber(s[2] or nil), rate_ms = tonumber(s[3] or nil),
    }
  end
  return named_limits.rules[known]
end

-- How many more jobs of a limit may start, and when the rate lets the next if it lets none.
function named_limits.room(queue, name)
  local rules, room, again_at = named_limits.rules_of(queue, name), math.huge, nil
  if rules.concurrency then room = rules.concurrency - call('SCARD', limit_running_key(queue, name)) end
  if rules.rate_max and rules.rate_ms then
    local left, at = rate_allows(limit_rate_key(queue, name, rules.rate_ms), rules.rate_max, rules.rate_ms)
    if left < 1 then again_at = math.max(at, now + 1) end
    room = math.min(room, left)
  end
  return room, again_at
end

-- The first of these limits that lets no job start, and when its rate lets the next.
function named_limits.full(queue, names)
  for _, name in ipairs(names) do
    local room, again_at = named_limits.room(queue, name)
    if room < 1 then return name, again_at end
  end
end

-- Lets a held job into its working queue, at the place that it had. A score is not in the future.
function named_limits.let_in(jid, score)
  local job = read_job(jid)
  if not job then return end
  if job[TENANT] then return enter_stored(jid, job) end
  local options = table_of(job[OPTIONS])
  enqueue(jid, job[QUEUE], math.min(tonumber(score), now), rank_of(options.priority), host_in(options))
  call('HSET', job_key(jid), 'status', 'queued', 'history', with_entry(job[HISTORY], entry('queued')))
end

-- Lets the first in that a limit holds. Returns whether there was one.
function named_limits.wake(queue, name)
  local held = call('ZRANGE', limit_held_key(queue, name), 0, HELD_WOKEN_MAX - 1, 'WITHSCORES')
  for at = 1, #held, 2 do
    if call('ZREM', delayed_key(queue), held[at]) == 1 then
      named_limits.let_in(held[at], held[at + 1])
      return true
    end
  end
  return false
end

-- Looks after the first job that a limit holds: it is let in if there is room, and otherwise delayed for no longer than the
-- rate needs.
function named_limits.look(queue, name)
  local first = call('ZRANGE', limit_held_key(queue, name), 0, 0)[1]
  if not first then return end
  local room, again_at = named_limits.room(queue, name)
  if room >= 1 then return named_limits.wake(queue, name) end
  local due = again_at and tonumber(call('ZSCORE', delayed_key(queue), first) or nil)
  if due and due > again_at then delay_by(first, queue, again_at - now) end
end

-- When a job is let in that a limit holds, as far as the rate tells: so many others come before it.
function named_limits.delay(queue, name, rank, again_at)
  local rules = named_limits.rules_of(queue, name)
  if not again_at then return HELD_LOOK_MS end
  return math.min(again_at - now + math.floor(rank / rules.rate_max) * rules.rate_ms, OPTION_MAX)
end

-- Has a job wait for a limit that lets it not start. Returns its history entry. Its other limits are for others.
function named_limits.hold(jid, queue, names, name, again_at)
  local key = limit_held_key(queue, name)
  named_limits.n_held = named_limits.n_held + 1
  if not call('ZSCORE', key, jid) then
    -- Equal scores would go by id.
    local last = tonumber(call('ZRANGE', key, -1, -1, 'WITHSCORES')[2] or nil) or 0
    call('ZADD', key, math.max(now, last + 1 / 1024), jid)
  end
  local delay = named_limits.delay(queue, name, call('ZRANK', key, jid), again_at)
  if call('PTTL', key) < delay then call('PEXPIRE', key, string.format('%.0f', delay + HELD_KEPT_MS)) end
  for _, other in ipairs(names) do
    local was_held = other ~= name and call('ZREM', limit_held_key(queue, other), jid) == 1
    if was_held and named_limits.n_held < HELD_MAX then named_limits.look(queue, other) end
  end
  return delay_by(jid, queue, delay, false, ',"limit":' .. quoted(name))
end

-- A job that is to run next is the first that its limits let in.
function named_limits.put_first(jid, queue, options)
  for _, name in ipairs(named_limits.of(options)) do
    local key = limit_held_key(queue, name)
    call('ZADD', key, 0, jid)
    if call('PTTL', key) < HELD_KEPT_MS then call('PEXPIRE', key, HELD_KEPT_MS) end
  end
end

-- A job that names limits begins to run. One that was reserved does not count.
function named_limits.began(jid, queue, names, was_reserved)
  for _, name in ipairs(names) do
    local rules = was_reserved and {} or named_limits.rules_of(queue, name)
    call('ZREM', limit_held_key(queue, name), jid)
    if rules.concurrency then call('SADD', limit_running_key(queue, name), jid) end
    if rules.rate_max and rules.rate_ms then spend_rate(limit_rate_key(queue, name, rules.rate_ms), rules.rate_ms, 1) end
  end
  for _, name in ipairs(names) do named_limits.look(queue, name) end
end

-- A job waits no longer.
function named_limits.withdrawn(job)
  for _, name in ipairs(named_limits.of(job[OPTIONS])) do
    if call('ZREM', limit_held_key(job[QUEUE], name), job[JID]) == 1 then named_limits.look(job[QUEUE], name) end
  end
end

-- The place of a delayed job that a limit has held, if one has.
function named_limits.place(jid, job)
  for _, name in ipairs(named_limits.of(job[OPTIONS])) do
    local score = call('ZSCORE', limit_held_key(job[QUEUE], name), jid)
    if score then return score end
  end
end

-- A job runs no longer: others of its tenant and of its limits may.
local function left_worker(job)
  if job[TENANT] then
    call('SREM', tenant_running_key(job[QUEUE], job[TENANT]), job[JID])
    feed(job[QUEUE], job[TENANT])
  end
  for _, name in ipairs(named_limits.of(job[OPTIONS])) do
    if call('SREM', limit_running_key(job[QUEUE], name), job[JID]) == 1 then named_limits.look(job[QUEUE], name) end
  end
end
