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
  if ARGV[6] == '' then
    return newest and call('ZREVRANGE', set, 0, looks - 1, 'WITHSCORES') or call('ZRANGE', set, 0, looks - 1, 'WITHSCORES')
  end
  local score = tonumber(ARGV[6])
  local before = entries_before(score, ARGV[7], not newest)
  if not newest then return call('ZRANGE', set, before, before + looks - 1, 'WITHSCORES') end
  local skipped = call('ZCARD', set) - before
  return call('ZREVRANGE', set, skipped, skipped + looks - 1, 'WITHSCORES')
end

-- Whether JSON has a word as it is, so that JSON without the word is about something else.
local function is_plain(word) return not word:find('[^ %w%-_.@+]') end

local tag_is_plain, text_is_plain = is_plain(wanted_tag), is_plain(wanted_text)
-- Redis' JSON has a backslash before each slash.
local text_has_slash = wanted_text:find('[/\\]')

-- Whether one of the tags meets the test. Tags are taken out of their JSON only if the word may be among them.
local function some_tag(tags, word, word_is_plain, test)
  if #tags <= 2 or (word_is_plain and not tags:find(word, 1, true)) then return false end
  for _, name in pairs(table_of(tags)) do
    if type(name) == 'string' and test(name) then return true end
  end
  return false
end

local function is_wanted_tag(name) return name == wanted_tag end
local function has_wanted_text(text) return text:find(wanted_text, 1, true) end

-- Whether a job is wanted, and how many bytes were read to know.
local function is_wanted(jid)
  if wanted_tag == '' and wanted_text == '' then return true, 0 end
  local fields = call('HMGET', job_key(jid), 'data', 'tags')
  local data, tags = fields[1] or '', fields[2] or '{}'
  if wanted_tag ~= '' and not some_tag(tags, wanted_tag, tag_is_plain, is_wanted_tag) then return false, #data end
  local shown = text_has_slash and data:gsub('\\/', '/') or data
  local has_text = wanted_text == '' or has_wanted_text(shown) or has_wanted_text(jid)
    or some_tag(tags, wanted_text, text_is_plain, has_wanted_text)
  return has_text, #data
end

local entries, found, looked_at, bytes = next_entries(), {}, 0, 0
local at = -1
while at + 2 < #entries and #found < max and bytes < bytes_max do
  at = at + 2
  looked_at = looked_at + 1
  local wanted, read = is_wanted(entries[at])
  bytes = bytes + read
  if wanted then
    local job = call('HMGET', job_key(entries[at]), unpack(FIELDS))
    -- An entry without a job is about to be dropped by the next claim or sweep.
    if job[JID] then
      found[#found + 1] = job
      bytes = bytes + #(job[DATA] or '') + #(job[RESULT] or '')
    end
  end
end
local is_end = #entries < 2 * looks and looked_at == #entries / 2
return { looked_at, bytes, at > 0 and entries[at + 1] or '', at > 0 and entries[at] or '', is_end and 1 or 0, found }
