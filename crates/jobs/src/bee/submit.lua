--[[
  Stores jobs and lets each into its queue, unless it is delayed or waits for others.

  KEYS  1 queue
  ARGV  1 tag   2 hive   3 now   4 queue   5 whole   6 jobs...
        If whole is 1, all jobs are stored or none.
        A job is six values: jid, data as JSON, options as JSON, priority, tags as JSON, and the rest as a JSON object
        that may have delay, dependencies, on_tags, parent, host, tenant, digest, start_by and unique; empty when it has none.
  Derives the keys of the queue, the jobs and their tags under the same hash tag.
  Returns a word for each job: ok, EXISTS, PARENT_CANCELED; EXISTING or REPLACED with the id of the job that stands for it. As a whole, SAME is a job that was submitted before with the same
  digest, and ok says nothing if another job is refused.
]]
--- @include "ready"
--- @include "reserved"
--- @include "unique"

local NOTHING = {}
local ENDED = { completed = true, failed = true, canceled = true, duplicate = true, expired = true }

-- The jobs of this call that wait for a job, by that job. They are written at the end of the call, since a field is
-- written as a whole.
local dependants_of, awaited = {}, {}

-- Whether there is such a job and it has not ended.
local function can_be_awaited(dependency)
  local job = call('HMGET', job_key(dependency), 'status', 'queue')
  if not job[1] or ENDED[job[1]] then return false end
  if job[1] == 'queued' then touch(dependency, job[2] or '') end
  return true
end

-- Lets a job wait for another, if there is such a job and it has not ended.
local function wait_for(jid, dependency)
  local dependants = dependants_of[dependency]
  if not dependants then
    if not can_be_awaited(dependency) then return end
    dependants = {}
    dependants_of[dependency], awaited[#awaited + 1] = dependants, dependency
  end
  dependants[#dependants + 1] = quoted(jid)
  call('SADD', dependencies_key(jid), dependency)
end

-- A longer list is not written for every new dependant: they are gathered in a second field, up to as many bytes.
local DEPENDANTS_BYTES = 8192

-- Node hives read the first field only.
local function may_split_dependants() return tag ~= '' or call('EXISTS', scripts_key()) == 0 end

local function store_dependants()
  for _, dependency in ipairs(awaited) do
    local key, new = job_key(dependency), '[' .. table.concat(dependants_of[dependency], ',') .. ']'
    local more = call('HGET', key, 'moreDependants')
    local gathered = joined(more, new)
    if more and #gathered <= DEPENDANTS_BYTES and may_split_dependants() then
      call('HSET', key, 'moreDependants', gathered)
    else
      local all = joined(call('HGET', key, 'dependants'), gathered)
      call('HSET', key, 'dependants', all)
      if more or #all > DEPENDANTS_BYTES then call('HSET', key, 'moreDependants', '[]') end
    end
  end
end

local function wait_for_all(jid, tags, rest)
  if rest.on_tags then
    local sets = {}
    for at, name in ipairs(tags) do sets[at] = tags_key(name) end
    for _, dependency in ipairs(call('SINTER', unpack(sets))) do wait_for(jid, dependency) end
  end
  for _, dependency in ipairs(rest.dependencies or {}) do wait_for(jid, dependency) end
end

-- Where the job goes first. Returns its status and its second history entry.
local function place(jid, priority, rest)
  if rest ~= NOTHING and call('EXISTS', dependencies_key(jid)) == 1 then
    call('ZADD', waiting_key(queue), now, jid)
    return 'new', entry('dependancyWaiting')
  end
  local delay = tonumber(rest.delay) or 0
  if delay > 0 then return 'new', delay_by(jid, queue, delay) end
  return enter(jid, queue, priority, rest.host, rest.tenant)
end

local function store(jid, data, options, priority, tags_text, rest)
  local tags = table_of(tags_text)
  local fields = { 'jid', jid, 'queue', queue, 'data', data, 'options', options, 'worker', '', 'submitted', now_text,
    'retries', '0', 'tags', tags_text }
  -- A job that had the id before may have ended while it waited.
  call('DEL', dependencies_key(jid))
  wait_for_all(jid, tags, rest)
  if rest.parent then
    fields[#fields + 1], fields[#fields + 2] = 'parent', rest.parent
    call('SADD', children_key(rest.parent), jid)
  end
  if rest.tenant then fields[#fields + 1], fields[#fields + 2] = 'tenant', rest.tenant end
  if rest.start_by then call('ZADD', start_by_key(queue), rest.start_by, jid) end
  if rest.digest then fields[#fields + 1], fields[#fields + 2] = 'digest', rest.digest end
  for _, name in ipairs(tags) do call('SADD', tags_key(name), jid) end
  local status, placed = place(jid, priority, rest)
  call('HSET', job_key(jid), 'status', status, 'history', '[' .. entry('submitted') .. ',' .. placed .. ']', unpack(fields))
  return 'ok'
end

local function rest_at(at) return ARGV[at + 5] == '' and NOTHING or cjson.decode(ARGV[at + 5]) end

-- Whether the job that has the id may stand for this one.
local function is_unique_id(rest) return rest.unique and not rest.unique.field end

-- Why a job cannot be stored, if so.
local function objection(jid, rest)
  if is_unique_id(rest) then
    local of = call('HGET', job_key(jid), 'queue')
    if of and of ~= queue then return 'EXISTS' end
  elseif call('EXISTS', job_key(jid)) == 1 then
    return 'EXISTS'
  end
  if rest.parent and call('HGET', job_key(rest.parent), 'status') == 'canceled' then return 'PARENT_CANCELED' end
end

-- Whether the job under this id was made by an equal submission. Earlier versions have stored no digest.
local function is_repeat(jid, rest)
  local digest = rest.digest and (call('HGET', job_key(jid), 'digest') or rest.digest)
  return digest and digest == rest.digest
end

local function store_at(at, rest)
  return store(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], rest)
end

-- Stores a job, unless another one stands for it.
local function submit_at(at, rest)
  if not rest.unique then return store_at(at, rest) end
  return submit_unique(queue, ARGV[at], ARGV[at + 1], rest, function() return store_at(at, rest) end)
end

-- A word for each job, and whether one of them is refused.
local function check_all()
  local words, seen, is_refused = {}, {}, false
  for at = JOBS_AT, #ARGV, 6 do
    local jid, rest = ARGV[at], rest_at(at)
    local is_taken = seen[jid] and not is_unique_id(rest)
    local word = is_taken and 'EXISTS' or objection(jid, rest) or 'ok'
    if word == 'EXISTS' and not seen[jid] and is_repeat(jid, rest) then word = 'SAME' end
    seen[jid] = true
    is_refused = is_refused or (word ~= 'ok' and word ~= 'SAME')
    words[#words + 1] = word
  end
  return words, is_refused
end

local words, stored, is_refused = {}, 0, false
if whole == '1' then words, is_refused = check_all() end
if is_refused then return words end
for at = JOBS_AT, #ARGV, 6 do
  local jid, rest, place_of = ARGV[at], rest_at(at), (at - JOBS_AT) / 6 + 1
  local word = words[place_of]
  if not word or word == 'ok' then
    word = objection(jid, rest) or submit_at(at, rest)
  end
  if word == 'ok' then stored = stored + 1 end
  words[place_of] = word
end
store_dependants()
if stored > 0 then count(queue, 'submitted', stored) end
write_counts()
return words
