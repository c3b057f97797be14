--[[
  Gathers what decides when a job will run.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 jid
  Derives the keys of the job's queue under the same hash tag.
  Returns the job's fields, a JSON object of numbers about its queue, and the first jobs that it waits for, each with
  its status; nothing when there is no such job.
]]
--- @include "claim"

-- The pace is that of the last minutes.
local MINUTES = 5
-- A Node worker sends a heartbeat twice a minute.
local ALIVE_MS = 60000
local DEPENDENCIES_TOLD = 10

local job = read_job(jid)
if not job then return nil end
local queue, tenant = job[QUEUE], job[TENANT]
local settings = settings_of(queue)
local minute = math.floor(now / 60000)
local started, first = 0, nil
for back = MINUTES, 0, -1 do
  local n = tonumber(call('HGET', minutes_key(queue), string.format('%d:started', minute - back)) or nil)
  if n then
    started, first = started + n, first or minute - back
  end
end

-- When the first of them started: a minute of the clock may have begun long before.
local function first_start()
  local into_minute = tonumber(call('HGET', minutes_key(queue), string.format('%d:first', first)) or nil) or 0
  return math.max(first * 60000 + into_minute, now - MINUTES * 60000)
end

local facts = {
  rank = call('ZRANK', queue_key(queue), jid) or nil,
  queued = call('ZCARD', queue_key(queue)),
  running = call('ZCARD', locks_key(queue)) + n_in_reservations(queue),
  workers = call('ZCOUNT', bees_key(queue), now - ALIVE_MS, '+inf'),
  due = tonumber(call('ZSCORE', delayed_key(queue), jid) or nil),
  dependencies = call('SCARD', dependencies_key(jid)),
  paused = settings.paused,
  concurrency = settings.concurrency,
  rate_max = settings.rate_max,
  rate_ms = settings.rate_ms,
  started = started,
  started_ms = first and now - first_start() or 0,
}
if settings.rate_max then
  facts.rate_allows, facts.rate_again_at = rate_allows(rate_key(queue), settings.rate_max, settings.rate_ms)
end
if tenant then
  local rules = tenant_rules(queue, tenant)
  facts.tenants = call('HLEN', tenants_key(queue))
  facts.tenant_rank = call('ZRANK', parked_key(queue, tenant), jid) or nil
  facts.tenant_running = call('SCARD', tenant_running_key(queue, tenant))
  facts.tenant_concurrency = rules.limit
  facts.tenant_paused = rules.paused
  if rules.rate_max then
    local key = tenant_rate_key(queue, tenant, rules.rate_ms)
    facts.tenant_rate_max, facts.tenant_rate_ms = rules.rate_max, rules.rate_ms
    facts.tenant_rate_allows, facts.tenant_rate_again_at = rate_allows(key, rules.rate_max, rules.rate_ms)
  end
end

-- The limit that holds the job, or else one that would not let it start.
local function holding_limit()
  local names = named_limits.of(job[OPTIONS])
  for _, name in ipairs(names) do
    if call('ZSCORE', limit_held_key(queue, name), jid) then return name end
  end
  return (named_limits.full(queue, names))
end

local limit = holding_limit()
if limit then
  local rules, _, again_at = named_limits.rules_of(queue, limit), named_limits.room(queue, limit)
  facts.limit = {
    name = limit, concurrency = rules.concurrency, running = call('SCARD', limit_running_key(queue, limit)),
    rate_max = rules.rate_max, rate_ms = rules.rate_ms, again_at = again_at,
  }
end

local waits_for = {}
for _, dependency in ipairs(call('SSCAN', dependencies_key(jid), 0, 'COUNT', DEPENDENCIES_TOLD)[2]) do
  if #waits_for == DEPENDENCIES_TOLD then break end
  waits_for[#waits_for + 1] = { dependency, call('HGET', job_key(dependency), 'status') or 'gone' }
end
return { job, quoted(facts), waits_for }
