-- How often a job is tried again, and how long it waits before.
--
-- A job that says nothing about it follows its queue. All jobs have a number and a delay, since Node's scripts fail without,
-- so whoever chooses the very defaults says so by `ownRetries` or by naming its backoff.
--- @include "events"

local of_queue = {}
local function retry_settings(queue)
  if not of_queue[queue] then
    of_queue[queue] = call('HMGET', settings_key(queue), 'retries', 'retry_delay_ms', 'backoff', 'retry_delay_max_ms',
      'retry_jitter')
  end
  return of_queue[queue]
end

local function retry_limit(job, options)
  local own = option(options, 'retries')
  if own ~= OPTION_DEFAULTS.retries or options.ownRetries == true then return own end
  return tonumber(retry_settings(job[QUEUE])[1] or nil) or own
end

local function says_how_to_wait(options)
  return options.backoff or options.progressiveDelay == true or option(options, 'retryDelay') ~= OPTION_DEFAULTS.retryDelay
end

-- How a job waits: the first wait, how the next ones grow, the longest, and which share of each is left to chance.
local function backoff_of(job, options)
  local set = not says_how_to_wait(options) and retry_settings(job[QUEUE])
  if set and (set[2] or set[3]) then
    return tonumber(set[2] or nil) or OPTION_DEFAULTS.retryDelay, set[3], tonumber(set[4] or nil), tonumber(set[5] or nil)
  end
  local kind = options.backoff or (options.progressiveDelay == true and 'linear')
  return option(options, 'retryDelay'), kind, tonumber(options.retryDelayMax), tonumber(options.retryJitter)
end

-- A number from 0 to 1 that differs from job to job and from try to try, and is the same whenever it is asked for.
local function chance(jid, retry)
  return tonumber(redis.sha1hex(jid .. ':' .. string.format('%d', retry)):sub(1, 8), 16) / 4294967296
end

-- How long a job waits before its nth retry. What the worker says about the attempt comes first.
local function retry_wait(job, options, exception, retry)
  local progressive = exception.progressiveDelay
  if tonumber(exception.retryDelay) then
    if progressive == nil then progressive = options.progressiveDelay end
    return option(exception, 'retryDelay') * (progressive == true and retry or 1)
  end
  local wait, kind, longest, jitter = backoff_of(job, options)
  if progressive ~= nil then kind = progressive == true and 'linear' end
  if kind == 'linear' then
    wait = wait * retry
  elseif kind == 'exponential' then
    wait = wait * 2 ^ math.min(retry - 1, 64)
  end
  wait = math.min(wait, longest or OPTION_MAX, OPTION_MAX)
  if not jitter then return wait end
  return math.floor(wait * (1 - math.max(math.min(jitter, 1), 0) * chance(job[JID], retry)))
end
