--[[
  Gathers what decides when a job will run.

  KEYS  1 job
  ARGV  1 tag   2 hive   3 now   4 jid
  Derives the keys of the job's queue under the same hash tag.
  Returns the job's fields and a JSON object of numbers about its queue; nothing when there is no such job.
]]
--- @include "claim"

local MINUTES = 5

local jid = ARGV[4]
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

local facts = {
  rank = call('ZRANK', queue_key(queue), jid),
  queued = call('ZCARD', queue_key(queue)),
  running = call('ZCARD', locks_key(queue)),
  workers = call('ZCOUNT', bees_key(queue), now - SHARE_MS, now),
  due = call('ZSCORE', delayed_key(queue), jid),
  dependencies = call('SMEMBERS', dependencies_key(jid)),
  paused = settings.paused,
  concurrency = settings.concurrency,
  rate_max = settings.rate_max,
  rate_ms = settings.rate_ms,
  started = started,
  started_ms = first and now - math.max(first * 60000, now - MINUTES * 60000) or 0,
}
if settings.rate_max then
  facts.rate_allows, facts.rate_again_at = rate_allows(queue, settings.rate_max, settings.rate_ms)
end
if tenant then
  local limits = call('HMGET', settings_key(queue), 'tenant_concurrency:' .. tenant, 'tenant_concurrency')
  facts.tenant_rank = call('ZRANK', parked_key(queue, tenant), jid)
  facts.tenant_running = call('SCARD', tenant_running_key(queue, tenant))
  facts.tenant_concurrency = tonumber(limits[1] or limits[2] or nil)
end
return { job, quoted(facts) }
