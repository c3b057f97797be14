--[[
  Deletes what is set and counted for a queue, if no job is left in it.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue
  Derives the keys of the queue under the same hash tag.
  Returns how many jobs are left; 0 when the queue is gone.
]]
--- @include "keys"

local left = call('HLEN', tenants_key(queue)) + call('HLEN', reserved_key(queue))
for _, key in ipairs({ queue_key, delayed_key, waiting_key, locks_key, expires_key, failed_key }) do
  left = left + call('ZCARD', key(queue))
end
if left > 0 then return left end
for _, field in ipairs(call('HKEYS', settings_key(queue))) do
  local name = field:match('^limit_concurrency:(.*)$')
  if name then call('DEL', limit_running_key(queue, name), limit_held_key(queue, name)) end
end
for _, key in ipairs({ ranked_key, stopping_key, timeouts_key, start_by_key, unique_key, unique_looks_key, settings_key, rate_key, minutes_key, times_minutes_key, times_quarters_key, times_hours_key, slowest_key, errors_key, error_ranks_key, error_mutes_key, workers_key, bees_key, tenants_key, tenant_wakes_key }) do
  call('DEL', key(queue))
end
return 0
