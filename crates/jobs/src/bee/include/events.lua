-- The snapshot of a job, and the messages on the queue's channel.
--- @include "keys"
--- @include "publish"

-- The fields of a job, in the order in which scripts read and return them.
local FIELDS = {
  'jid', 'queue', 'data', 'options', 'worker', 'status', 'submitted', 'retries', 'tags', 'history',
  'result', 'parent', 'hash', 'duplicate', 'failedReason', 'dependants', 'attempts', 'deaths', 'tenant',
}
local JID, QUEUE, DATA, OPTIONS, WORKER, STATUS, SUBMITTED, RETRIES, TAGS, HISTORY = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local RESULT, PARENT, HASH, DUPLICATE, FAILED_REASON, DEPENDANTS, ATTEMPTS, DEATHS, TENANT = 11, 12, 13, 14, 15, 16, 17, 18, 19

-- All fields of a job, or nothing when there is no such job. What a stray write left under the key is no job.
local function read_job(jid)
  local job = call('HMGET', job_key(jid), unpack(FIELDS))
  return job[JID] and job[QUEUE] and job[OPTIONS] and job
end

local function text_or_false(text) return text and quoted(text) or 'false' end

-- What a duplicate tells about its original.
local function original_of(jid)
  local fields = call('HMGET', job_key(jid), 'status', 'result', 'failedReason')
  return '{"jid":' .. quoted(jid) .. ',"status":' .. text_or_false(fields[1]) .. ',"result":' .. (fields[2] or '{}')
    .. ',"failedReason":' .. text_or_false(fields[3]) .. '}'
end

-- A job as listeners get it: they act on this text without reading the key.
local function snapshot(job)
  return '{"jid":' .. quoted(job[JID]) .. ',"parent":' .. text_or_false(job[PARENT]) .. ',"data":' .. (job[DATA] or '{}')
    .. ',"queue":' .. quoted(job[QUEUE]) .. ',"worker":' .. quoted(job[WORKER] or '') .. ',"hash":' .. text_or_false(job[HASH])
    .. ',"status":' .. quoted(job[STATUS]) .. ',"options":' .. (job[OPTIONS] or '{}')
    .. ',"submitted":' .. (job[SUBMITTED] or 'false') .. ',"retries":' .. (job[RETRIES] or '0')
    .. ',"tags":' .. (job[TAGS] or '{}') .. ',"result":' .. (job[RESULT] or '{}')
    .. ',"failedReason":' .. text_or_false(job[FAILED_REASON])
    .. ',"duplicate":' .. (job[DUPLICATE] and original_of(job[DUPLICATE]) or 'false')
    .. ',"history":' .. (job[HISTORY] or '{}') .. ',"dependants":' .. (job[DEPENDANTS] or '{}') .. '}'
end

local function event_text(kind, jid, queue, extra)
  return '{"type":"' .. kind .. '","jid":' .. quoted(jid) .. ',"queue":' .. quoted(queue) .. (extra or '') .. '}'
end

-- Announces what happened to a job, with the whole job.
local function announce(kind, job)
  publish(queue_events_key(job[QUEUE]), event_text(kind, job[JID], job[QUEUE], ',"job":' .. snapshot(job)))
end
