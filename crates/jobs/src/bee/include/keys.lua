-- The keys of jobs, queues and workers of this group. A test compares the literals with the declarations.
--- @include "call"

local function percent(byte) return string.format('%%%02X', byte:byte()) end

-- A name as it stands in keys. Job ids are never coded: ours need none, and Node's are UUIDs.
local function coded(name)
  if not name:find('[^%w%-_./~]') then return name end
  return (name:gsub('[%%:{}*?%[%]\\^ %c\127-\255]', percent))
end

-- Worker ids have colons by definition.
local function coded_worker(worker)
  if not worker:find('[^%w%-_./~:]') then return worker end
  return (worker:gsub('[%%{}*?%[%]\\^ %c\127-\255]', percent))
end

local function job_key(jid) return tag .. 'bee:h:jobs:' .. jid end
local function logs_key(jid) return tag .. 'bee:l:logs:' .. jid end
local function dependencies_key(jid) return tag .. 'bee:s:dependencies:' .. jid end
local function children_key(jid) return tag .. 'bee:s:' .. jid .. ':children' end
local function tags_key(name) return tag .. 'bee:s:tags:' .. coded(name) end

local function queue_key(queue) return tag .. 'bee:ss:queue:' .. coded(queue) end
local function ranked_key(queue) return tag .. 'bee:ss:ranked:' .. coded(queue) end
local function delayed_key(queue) return tag .. 'bee:ss:delayed:' .. coded(queue) end
local function waiting_key(queue) return tag .. 'bee:ss:waiting:' .. coded(queue) end
local function failed_key(queue) return tag .. 'bee:ss:failed:' .. coded(queue) end
local function expires_key(queue) return tag .. 'bee:ss:expires:' .. coded(queue) end
local function locks_key(queue) return tag .. 'bee:ss:locks:' .. coded(queue) end
local function stopping_key(queue) return tag .. 'bee:ss:stopping:' .. coded(queue) end
local function timeouts_key(queue) return tag .. 'bee:ss:timeouts:' .. coded(queue) end
local function start_by_key(queue) return tag .. 'bee:ss:start-by:' .. coded(queue) end
local function unique_key(queue) return tag .. 'bee:h:unique:' .. coded(queue) end
local function unique_looks_key(queue) return tag .. 'bee:ss:unique:' .. coded(queue) end
local function reserved_key(queue) return tag .. 'bee:h:reserved:' .. coded(queue) end
local function bees_key(queue) return tag .. 'bee:ss:bees:' .. coded(queue) end
local function workers_key(queue) return tag .. 'bee:h:workers:' .. coded(queue) end
local function settings_key(queue) return tag .. 'bee:h:settings:' .. coded(queue) end
local function rate_key(queue) return tag .. 'bee:ss:rate:' .. coded(queue) end
local function minutes_key(queue) return tag .. 'bee:h:minutes:' .. coded(queue) end
local function times_minutes_key(queue) return tag .. 'bee:h:times-minutes:' .. coded(queue) end
local function times_quarters_key(queue) return tag .. 'bee:h:times-quarters:' .. coded(queue) end
local function times_hours_key(queue) return tag .. 'bee:h:times-hours:' .. coded(queue) end
local function slowest_key(queue) return tag .. 'bee:h:slowest:' .. coded(queue) end
local function errors_key(queue) return tag .. 'bee:h:errors:' .. coded(queue) end
local function error_ranks_key(queue) return tag .. 'bee:ss:errors:' .. coded(queue) end
local function error_mutes_key(queue) return tag .. 'bee:h:error-mutes:' .. coded(queue) end
local function hashes_key(queue, hash) return tag .. 'bee:l:hashes:' .. coded(queue) .. ':' .. coded(hash) end

local function tenants_key(queue) return tag .. 'bee:h:tenants:' .. coded(queue) end
local function parked_key(queue, tenant) return tag .. 'bee:ss:parked:' .. coded(queue) .. ':' .. coded(tenant) end
local function tenant_wakes_key(queue) return tag .. 'bee:ss:tenant-wakes:' .. coded(queue) end
local function tenant_rate_key(queue, tenant, rate_ms)
  return tag .. 'bee:ss:tenant-rate:' .. coded(queue) .. ':' .. coded(tenant) .. ':' .. string.format('%.0f', rate_ms)
end
local function tenant_running_key(queue, tenant)
  return tag .. 'bee:s:running:' .. coded(queue) .. ':' .. coded(tenant)
end

local function limit_held_key(queue, limit) return tag .. 'bee:ss:held:' .. coded(queue) .. ':' .. coded(limit) end
local function limit_running_key(queue, limit) return tag .. 'bee:s:limited:' .. coded(queue) .. ':' .. coded(limit) end
local function limit_rate_key(queue, limit, rate_ms)
  return tag .. 'bee:ss:limit-rate:' .. coded(queue) .. ':' .. coded(limit) .. ':' .. string.format('%.0f', rate_ms)
end

local function worker_locks_key(worker) return tag .. 'bee:s:locks:' .. coded_worker(worker) end
local function lock_waits_key(worker, jid) return tag .. 'bee:str:lock-waits:' .. coded_worker(worker) .. ':' .. jid end

local function outbox_kinds_key() return tag .. 'bee:h:outbox-kinds' end
local function outbox_key() return tag .. 'bee:l:outbox' end
local function outbox_dropped_key() return tag .. 'bee:str:outbox-dropped' end

local function queue_events_key(queue) return tag .. 'bee:ch:q:' .. coded(queue) end
local function log_events_key(jid) return tag .. 'bee:ch:logs:' .. jid end
local function host_events_key(host) return tag .. 'bee:ch:host:' .. coded(host) end
local function worker_events_key(worker) return tag .. 'bee:ch:worker:' .. coded_worker(worker) end

-- What Node hives write when they start, and nobody else.
local function scripts_key() return 'bee:scripts' end
