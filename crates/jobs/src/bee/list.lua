--[[
  Looks at some jobs of a sorted set, from a place on, and returns those that are wanted.

  The place is that of the last entry that was looked at before, which may be gone: it goes on behind where that was. Of a job
  that is not wanted only what decides is read. It stops after `looks` entries, `max` jobs or `bytes` of data, so that no
  call holds up others for long.

  KEYS  1 set
  ARGV  1 tag   2 hive   3 now   4 newest   5 max   6 score   7 member   8 looks   9 bytes   10 wanted_tag   11 wanted_text
        With newest 1 from the highest score down. An empty score is the beginning. What is empty is not wanted.
  Derives the keys of the jobs under the same hash tag.
  Returns how many entries it looked at, their bytes, the score and member of the last, whether that was the end of the
  set, and the fields of each wanted job.
]]
--- @include "events"

local set, newest, max = KEYS[1], ARGV[4] == '1', tonumber(ARGV[5])
local looks, bytes_max, wanted_tag, wanted_text = tonumber(ARGV[8]), tonumber(ARGV[9]), ARGV[10], ARGV[11]

-- Whether a comes before b as bytes; Lua would compare as the server's language does.
local function comes_before(a, b)
  for at = 1, math.min(#a, #b) do
    local x, y = a:byte(at), b:byte(at)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- How many entries come before the place, or at it when `inclusive`. Many have the same score, so this halves the set.
local function entries_before(score, member, inclusive)
  local low, high = 0, call('ZCARD', set)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local entry = call('ZRANGE', set, middle, middle, 'WITHSCORES')
    local other = tonumber(entry[2])
    local is_before = other < score
      or (other == score and (comes_before(entry[1], member) or (inclusive and entry[1] == member)))
    if is_before then low = middle + 1 else high = middle end
  end
  return low
end

local function next_entries()
  if ARGV[6] == '' then return call(newest and 'ZREVRANGE' or 'ZRANGE', set, 0, looks - 1) end
  local before = entries_before(tonumber(ARGV[6]), ARGV[7], not newest)
  if not newest then return call('ZRANGE', set, before, before + looks - 1) end
  local skipped = call('ZCARD', set) - before
  return call('ZREVRANGE', set, skipped, skipped + looks - 1)
end

local find = string.find

-- Whether JSON has a word in it as it is, or as Redis writes it, which puts a backslash before each slash.
local function escaped(word) return (word:gsub('/', '\\/')) end
local escaped_tag, escaped_text = escaped(wanted_tag), escaped(wanted_text)
local function has_tag(json) return find(json, wanted_tag, 1, true) or find(json, escaped_tag, 1, true) end
local function has_text(json)
  return find(json, wanted_text, 1, true) or (escaped_text ~= wanted_text and find(json, escaped_text, 1, true))
end

-- Whether nobody writes the word in another way, so that JSON without it is about something else.
local function is_plain(word) return not find(word, '["\\<>&%c\127-\255]') end
local tag_is_plain, text_is_plain = is_plain(wanted_tag), is_plain(wanted_text)

local function is_tagged(tags)
  if tag_is_plain and not has_tag(tags) then return false end
  for _, name in pairs(table_of(tags)) do
    if name == wanted_tag then return true end
  end
  return false
end

local function has_text_in_tag(tags)
  if text_is_plain and not has_text(tags) then return false end
  for _, name in pairs(table_of(tags)) do
    if type(name) == 'string' and find(name, wanted_text, 1, true) then return true end
  end
  return false
end

-- Whether a job is wanted, and how many bytes were read to know. This runs a hundred thousand times for one page.
local function is_wanted(jid)
  if wanted_tag == '' and wanted_text == '' then return true, 0 end
  local fields = call('HMGET', job_key(jid), 'data', 'tags')
  local data, tags = fields[1] or '', fields[2] or ''
  if wanted_tag ~= '' and not is_tagged(tags) then return false, #data end
  local wanted = wanted_text == '' or has_text(data) or find(jid, wanted_text, 1, true) or has_text_in_tag(tags)
  return wanted, #data
end

local entries, found, looked_at, bytes = next_entries(), {}, 0, 0
local count = #entries
while looked_at < count and #found < max and bytes < bytes_max do
  looked_at = looked_at + 1
  local jid = entries[looked_at]
  local wanted, read = is_wanted(jid)
  bytes = bytes + read
  if wanted then
    local job = call('HMGET', job_key(jid), unpack(FIELDS))
    -- An entry without a job is about to be dropped by the next claim or sweep.
    if job[JID] then
      found[#found + 1] = job
      bytes = bytes + #(job[DATA] or '') + #(job[RESULT] or '')
    end
  end
end
local last = entries[looked_at]
local is_end = count < looks and looked_at == count
return { looked_at, bytes, last and call('ZSCORE', set, last) or '', last or '', is_end and 1 or 0, found }
