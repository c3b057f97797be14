-- The snapshot of a job, and the messages on the queue's channel.
--- @include "keys"
--- @include "publish"
--- @include "outbox"

-- The fields of a job, in the order in which scripts read and return them.
local FIELDS = {
  'jid', 'queue', 'data', 'options', 'worker', 'status', 'submitted', 'retries', 'tags', 'history',
  'result', 'parent', 'hash', 'duplicate', 'failedReason', 'dependants', 'attempts', 'deaths', 'tenant',
  'errorGroup', 'moreDependants',
}
local JID, QUEUE, DATA, OPTIONS, WORKER, STATUS, SUBMITTED, RETRIES, TAGS, HISTORY = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local RESULT, PARENT, HASH, DUPLICATE, FAILED_REASON, DEPENDANTS, ATTEMPTS, DEATHS, TENANT = 11, 12, 13, 14, 15, 16, 17, 18, 19

-- What an option counts as when it is missing or makes no sense.
local OPTION_DEFAULTS = { delay = 0, retries = 5, retryDelay = 30000, ttl = 1800000 }
-- Ten years: no time is longer.
local OPTION_MAX = 315360000000

-- An option that is a number from 0 on.
local function option(options, name)
  local number = tonumber(options[name])
  if not (number and number >= 0) then return OPTION_DEFAULTS[name] end
  return math.min(number, OPTION_MAX)
end

-- A JSON list with what another one has besides.
local function joined(list, more)
  if not list or #list <= 2 then return more end
  if not more or #more <= 2 then return list end
  return list:sub(1, -2) .. ',' .. more:sub(2)
end

-- All fields of a job, or nothing when there is no such job. What a stray write left under the key is no job.
-- The dependants of a job with many are in two fields, of which the second is read last.
local function read_job(jid)
  local job = call('HMGET', job_key(jid), unpack(FIELDS))
  if not (job[JID] and job[QUEUE] and job[OPTIONS]) then return end
  job[DEPENDANTS], job[#FIELDS] = joined(job[DEPENDANTS], job[#FIELDS]), nil
  return job
end

local function text_or_false(text) return text and quoted(text) or 'false' end

-- What a duplicate tells about its original.
local function original_of(jid)
  local fields = call('HMGET', job_key(jid), 'status', 'result', 'failedReason')
  return '{"jid":' .. quoted(jid) .. ',"status":' .. text_or_false(fields[1]) .. ',"result":' .. (fields[2] or '{}')
    .. ',"failedReason":' .. text_or_false(fields[3]) .. '}'
end

-- Whether anybody can hear a message on the channel. Lua hashes every byte of every string it makes, so a snapshot
-- that nobody reads would be a good part of what a job costs. Listeners on a replica cannot be counted from here.
local heard = {}
local function is_heard(channel)
  if heard[channel] == nil then
    local count = tag == '' and 'NUMSUB' or 'SHARDNUMSUB'
    heard[channel] = call('PUBSUB', count, channel)[2] > 0
      or (tag == '' and call('PUBSUB', 'NUMPAT') > 0)
      or not call('INFO', 'replication'):find('connected_slaves:0', 1, true)
  end
  return heard[channel]
end

local function event_text(kind, jid, queue)
  return '{"type":"' .. kind .. '","jid":' .. quoted(jid) .. ',"queue":' .. quoted(queue) .. '}'
end

-- Tells a worker what it has lost, and in which attempt: it may have got the same job again.
local function tell_worker(kind, job)
  publish(worker_events_key(job[WORKER]), '{"type":"' .. kind .. '","jid":' .. quoted(job[JID])
    .. ',"queue":' .. quoted(job[QUEUE]) .. ',"attempt":' .. (tonumber(job[ATTEMPTS]) or 0) .. '}')
end

-- Announces what happened to a job, with the whole job: listeners act on the message without reading the key. If webhooks ask
-- for it, its end is written down before; of its data and its result, what is large is left out.
local function announce(kind, job)
  local jid, queue = quoted(job[JID]), quoted(job[QUEUE])
  if is_for_outbox(job[STATUS], job[QUEUE]) then
    local fields = {
      '"status":' .. quoted(job[STATUS]), '"jid":' .. jid, '"queue":' .. queue, '"at":' .. now_text,
      '"submitted":' .. (job[SUBMITTED] or now_text), '"tags":' .. (job[TAGS] or '{}'),
      string.format('"attempts":%d', tonumber(job[ATTEMPTS]) or 0),
      string.format('"retries":%d', tonumber(job[RETRIES]) or 0),
    }
    local function add(name, json)
      if json and #json <= 8192 then fields[#fields + 1] = '"' .. name .. '":' .. json end
    end
    add('tenant', job[TENANT] and quoted(job[TENANT]))
    add('parent', job[PARENT] and quoted(job[PARENT]))
    add('failed_reason', job[FAILED_REASON] and quoted(job[FAILED_REASON]))
    add('data', job[DATA])
    add('result', job[RESULT])
    if call('RPUSH', outbox_key(), '{' .. table.concat(fields, ',') .. '}') > 100000 then
      call('LPOP', outbox_key())
      call('INCR', outbox_dropped_key())
    end
  end
  local channel = queue_events_key(job[QUEUE])
  if not is_heard(channel) then return end
  -- One concatenation, so that one string is made.
  publish(channel, '{"type":"' .. kind .. '","jid":' .. jid .. ',"queue":' .. queue
    .. ',"job":{"jid":' .. jid .. ',"parent":' .. text_or_false(job[PARENT]) .. ',"data":' .. (job[DATA] or '{}')
    .. ',"queue":' .. queue .. ',"worker":' .. quoted(job[WORKER] or '') .. ',"hash":' .. text_or_false(job[HASH])
    .. ',"status":' .. quoted(job[STATUS]) .. ',"options":' .. job[OPTIONS]
    .. ',"submitted":' .. (job[SUBMITTED] or 'false') .. ',"retries":' .. (job[RETRIES] or '0')
    .. ',"tags":' .. (job[TAGS] or '{}') .. ',"result":' .. (job[RESULT] or '{}')
    .. ',"failedReason":' .. text_or_false(job[FAILED_REASON])
    .. ',"duplicate":' .. (job[DUPLICATE] and original_of(job[DUPLICATE]) or 'false')
    .. ',"history":' .. (job[HISTORY] or '{}') .. ',"dependants":' .. (job[DEPENDANTS] or '{}') .. '}}')
end

-- Announces that a job can be claimed.
local function announce_new(channel, jid, queue)
  if is_heard(channel) then publish(channel, event_text('new', jid, queue)) end
end
