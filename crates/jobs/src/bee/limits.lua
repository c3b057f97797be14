--[[
  Replaces the limits of a queue. What the new ones let start is told to idle workers.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 limits...
        A limit is two values: the setting's name and its number. What is not named is no limit.
  Derives the keys of the queue and its tenants under the same hash tag.
  Returns ok.
]]
--- @include "named_limits"

-- Tenants that may start more at once; the sweep goes through all of them.
local FED_MAX = 100

-- Jobs that a limit has held and that are let in at once; the others follow when these start.
local LET_IN_MAX = 100

local key = settings_key(queue)

-- The settings of limits that jobs name, by their fields.
local function named_settings()
  local found, all = {}, call('HGETALL', key)
  for at = 1, #all, 2 do
    if all[at]:find('^limit_') then found[all[at]] = all[at + 1] end
  end
  return found
end

local settings, old, named_before = {}, {}, named_settings()
for at = LIMITS_AT, #ARGV do settings[#settings + 1] = ARGV[at] end
for _, name in ipairs(call('HKEYS', key)) do
  if name ~= 'paused' then old[#old + 1] = name end
end
local rate_max, rate_ms = unpack(call('HMGET', key, 'rate_max', 'rate_ms'))
in_chunks('HDEL', key, old)
in_chunks('HSET', key, settings)
local new_max, new_ms = unpack(call('HMGET', key, 'rate_max', 'rate_ms'))
-- How much of another limit was used up says nothing about this one.
if rate_max ~= new_max or rate_ms ~= new_ms then call('DEL', rate_key(queue)) end

-- The names of limits that are other than before. What is not limited any more is not counted.
local named_now, changed = named_settings(), {}
for field, value in pairs(named_before) do
  if named_now[field] ~= value then changed[field:match('^[^:]*:(.*)$')] = true end
end
for field, value in pairs(named_now) do
  if named_before[field] ~= value then changed[field:match('^[^:]*:(.*)$')] = true end
end
for name in pairs(changed) do
  if not named_now['limit_concurrency:' .. name] then call('DEL', limit_running_key(queue, name)) end
  for _ = 1, LET_IN_MAX do
    if not named_limits.wake(queue, name) then break end
  end
end

local tenants = call('HSCAN', tenants_key(queue), 0, 'COUNT', FED_MAX)[2]
for at = 1, #tenants, 2 do feed(queue, tenants[at]) end
publish(queue_events_key(queue), event_text('resumed', '', queue))
return 'ok'
