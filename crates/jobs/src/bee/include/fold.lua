-- Minutes that are over become records: of the minute, of its quarter of an hour and of its hour. A record is a JSON object of
-- numbers; what comes late is added.
--- @include "times"

-- Younger minutes stay as they are counted: nearly nothing comes later, and `why.lua` reads the last five.
local OPEN_MINUTES = 10

local MINUTES_PER_DAY = 1440
-- A key lives so much longer than what was written to it last is kept.
local RECORDS_SPARE_S = 7200

-- Folds the minutes of a queue that are over, once in a minute, and forgets old records, once in an hour.
local fold_minutes
do
  local RECORDS = {
    { key = times_minutes_key, minutes = 1, kept = MINUTES_PER_DAY },
    { key = times_quarters_key, minutes = 15, kept = 7 * MINUTES_PER_DAY / 15 },
    { key = times_hours_key, minutes = 60, kept = 90 * 24 },
  }

  local function add(record, name, n) record[name] = (record[name] or 0) + n end

  -- Adds a counter of a minute to a record. When the first job of the minute started is of no use later.
  local function add_counter(record, what, n)
    local wait, run = what:match('^t(%d+)%.(%d+)$')
    if wait then
      add(record, 'w' .. wait, n)
      add(record, 'r' .. run, n)
    elseif what ~= 'first' then
      add(record, what, n)
    end
  end

  -- The minutes that are over, each as a record, and their fields.
  local function closed_minutes(counters, last)
    local minutes, fields = {}, {}
    for at = 1, #counters, 2 do
      local minute, what = counters[at]:match('^(%d+):(.+)$')
      minute = tonumber(minute)
      if minute and minute <= last then
        minutes[minute] = minutes[minute] or {}
        add_counter(minutes[minute], what, tonumber(counters[at + 1]) or 0)
        fields[#fields + 1] = counters[at]
      end
    end
    return minutes, fields
  end

  local function merge_into(key, field, more)
    local record = table_of(call('HGET', key, field))
    for name, n in pairs(more) do record[name] = (tonumber(record[name]) or 0) + n end
    call('HSET', key, field, quoted(record))
  end

  -- Adds minutes to the records of one length that are still kept.
  local function merge_minutes(queue, of, minutes, this_minute)
    local oldest, groups, key = math.floor(this_minute / of.minutes) - of.kept, {}, of.key(queue)
    for minute, record in pairs(minutes) do
      local group = math.floor(minute / of.minutes)
      if group > oldest then
        groups[group] = groups[group] or {}
        for name, n in pairs(record) do add(groups[group], name, n) end
      end
    end
    for group, record in pairs(groups) do merge_into(key, string.format('%d', group), record) end
    call('EXPIRE', key, of.kept * of.minutes * 60 + RECORDS_SPARE_S)
  end

  local function drop_old(queue, of, this_minute)
    local oldest, key, old = math.floor(this_minute / of.minutes) - of.kept, of.key(queue), {}
    for _, field in ipairs(call('HKEYS', key)) do
      if (tonumber(field) or oldest + 1) <= oldest then old[#old + 1] = field end
    end
    in_chunks('HDEL', key, old)
  end

  fold_minutes = function(queue)
    local key, minute = minutes_key(queue), math.floor(now / 60000)
    local folded = tonumber(call('HGET', key, 'folded') or nil)
    if folded == minute then return end
    local counters = call('HGETALL', key)
    if #counters == 0 then return end
    local minutes, fields = closed_minutes(counters, minute - OPEN_MINUTES)
    if #fields > 0 then
      local total = {}
      for _, record in pairs(minutes) do
        for name, n in pairs(record) do add(total, name, n) end
      end
      for _, of in ipairs(RECORDS) do merge_minutes(queue, of, minutes, minute) end
      merge_into(times_hours_key(queue), 'total', total)
      in_chunks('HDEL', key, fields)
    end
    if math.floor((folded or 0) / 60) ~= math.floor(minute / 60) then
      for _, of in ipairs(RECORDS) do drop_old(queue, of, minute) end
    end
    -- The field must not outlive the counters, or an idle queue would never lose the key.
    if call('HLEN', key) > (folded and 1 or 0) then
      call('HSET', key, 'folded', string.format('%d', minute))
    else
      call('DEL', key)
    end
  end
end
