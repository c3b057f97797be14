-- What happened to a job, oldest first. The text grows by its end; only a long one is taken apart.
--- @include "keys"

-- A longer history loses its middle.
local HISTORY_BYTES_MAX = 32768
local HISTORY_KEPT_FIRST = 10
local HISTORY_KEPT_LAST = 50

local hive_quoted = quoted(hive)

local after_event = '","timestamp":' .. now_text .. ',"hive":' .. hive_quoted
local plain_entries = {}

-- One entry. `extra` is JSON text that begins with a comma, or nothing.
local function entry(event, extra)
  if extra then return '{"event":"' .. event .. after_event .. extra .. '}' end
  if not plain_entries[event] then plain_entries[event] = '{"event":"' .. event .. after_event .. '}' end
  return plain_entries[event]
end

-- Drops the middle of a long history and says so where it was.
local function trimmed(history)
  local entries, kept = cjson.decode(history), {}
  local last = math.max(HISTORY_KEPT_FIRST, #entries - HISTORY_KEPT_LAST)
  local dropped = 0
  for at, old in ipairs(entries) do
    if at <= HISTORY_KEPT_FIRST or at > last then
      kept[#kept + 1] = quoted(old)
    else
      dropped = dropped + (old.event == 'trimmed' and old.dropped or 1)
    end
    if at == last and dropped > 0 then
      kept[#kept + 1] = entry('trimmed', ',"dropped":' .. string.format('%d', dropped))
    end
  end
  return '[' .. table.concat(kept, ',') .. ']'
end

-- The history with one more entry.
local function with_entry(history, new)
  if not history or #history <= 2 then return '[' .. new .. ']' end
  if #history > HISTORY_BYTES_MAX then history = trimmed(history) end
  return history:sub(1, -2) .. ',' .. new .. ']'
end

local function note(jid, new)
  local key = job_key(jid)
  call('HSET', key, 'history', with_entry(call('HGET', key, 'history'), new))
end
