-- What happened to a job, oldest first. The text grows by its end; only a long one is taken apart.
--- @include "keys"

-- A longer history loses its middle.
local HISTORY_BYTES_MAX = 32768

local after_event = '","timestamp":' .. now_text .. ',"hive":' .. quoted(hive)
local plain_entries = {}

-- One entry. `extra` is JSON text that begins with a comma, or nothing.
local function entry(event, extra)
  if extra then return '{"event":"' .. event .. after_event .. extra .. '}' end
  if not plain_entries[event] then plain_entries[event] = '{"event":"' .. event .. after_event .. '}' end
  return plain_entries[event]
end

-- Drops the middle of a long history and says so where it was.
local function trimmed(history)
  local kept_first, kept_last = { entries = 10, bytes = 8192 }, { entries = 50, bytes = 16384 }
  local entries, texts, kept = cjson.decode(history), {}, {}
  for at, old in ipairs(entries) do texts[at] = quoted(old) end
  -- How many entries from `first` in direction `step` are left: at least one, and none beyond an earlier note.
  local function kept_from(first, step, most)
    local n, bytes = 0, 0
    for at = first, step > 0 and #entries or 1, step do
      bytes = bytes + #texts[at]
      if n == most.entries or (n > 0 and bytes > most.bytes) or entries[at].event == 'trimmed' then break end
      n = n + 1
    end
    return n
  end
  local first = kept_from(1, 1, kept_first)
  local last = #entries - kept_from(#entries, -1, kept_last)
  local dropped = 0
  for at = first + 1, last do
    dropped = dropped + (entries[at].event == 'trimmed' and entries[at].dropped or 1)
  end
  for at = 1, first do kept[#kept + 1] = texts[at] end
  if dropped > 0 then kept[#kept + 1] = entry('trimmed', ',"dropped":' .. string.format('%d', dropped)) end
  for at = math.max(first, last) + 1, #entries do kept[#kept + 1] = texts[at] end
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
