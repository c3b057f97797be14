--[[
  Stores what somebody did on a journey, counts it and tells everybody, unless it breaks a rule. The rules are looked at
  in the order of the errors.

  KEYS  1 journey   2 session   3 stored   4 counts   5 events
  ARGV  1 user_sub   2 evtype   3 time   4 value   5 message   6 ttl_s   7 stored_max   8 now   9 counted_for_s
        value is the answer as a number, or empty.
  Returns whether the session is to be counted anew among its user's, because that was long ago.
  Errors  NOT_FOUND  SESSION_NOT_FOUND  SESSION_NOT_STARTED  SESSION_ALREADY_STARTED  SESSION_ALREADY_ENDED
          SESSION_HAS_LATER_EVENT  SESSION_HAS_SAME_EVENT_AT_SAME_TIME
          IMPOSSIBLE_EVENT  IMPOSSIBLE_EVENT_DATA  IMPOSSIBLE_JOURNEY_TIME
]]
--- @include "publish"
local journey_key, session_key, stored_key, counts_key = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local time_text, time, value = time, tonumber(time), tonumber(value)

local STYLES = {
  numeric_prompt_response = 'numeric',
  press_prompt_start_response = 'press',
  press_prompt_end_response = 'press',
  color_prompt_response = 'color',
  word_prompt_response = 'word',
}

local journey = redis.call('HMGET', journey_key, 'style', 'low', 'high', 'duration')
local session =
  redis.call('HMGET', session_key, 'user_sub', 'last_type', 'last_time', 'last_types', 'pressing', 'active',
    'counted_at', 'created_at')
local last_type, last_time, last_types = session[2], tonumber(session[3] or ''), session[4] or ''
local is_pressing, active = session[5] == '1', session[6] or ''

-- The word for the first rule that the event breaks, if it breaks any.
local function broken_rule()
  if not journey[4] then return 'NOT_FOUND' end
  if session[1] ~= user_sub then return 'SESSION_NOT_FOUND' end
  if evtype == 'join' and last_type then return 'SESSION_ALREADY_STARTED' end
  if evtype ~= 'join' and not last_type then return 'SESSION_NOT_STARTED' end
  if last_type == 'leave' then return 'SESSION_ALREADY_ENDED' end
  if last_time and last_time > time then return 'SESSION_HAS_LATER_EVENT' end
  if last_time == time and string.find(',' .. last_types .. ',', ',' .. evtype .. ',', 1, true) then
    return 'SESSION_HAS_SAME_EVENT_AT_SAME_TIME'
  end
  local style = STYLES[evtype]
  if style and style ~= journey[1] then return 'IMPOSSIBLE_EVENT' end
  if evtype == 'press_prompt_start_response' and is_pressing then return 'IMPOSSIBLE_EVENT' end
  if evtype == 'press_prompt_end_response' and not is_pressing then return 'IMPOSSIBLE_EVENT' end
  if value and (value < tonumber(journey[2]) or value > tonumber(journey[3])) then return 'IMPOSSIBLE_EVENT_DATA' end
  if time < 0 or time > tonumber(journey[4]) then return 'IMPOSSIBLE_JOURNEY_TIME' end
end

local rule = broken_rule()
if rule then return redis.error_reply(rule .. ' refused') end

local second = string.format(':%d', math.floor(time))
local function count(name, change) redis.call('HINCRBY', counts_key, name .. second, change) end

count('all', 1)
if evtype == 'join' then
  count('users', 1)
elseif evtype == 'like' then
  count('likes', 1)
elseif evtype == 'press_prompt_start_response' then
  count('press', 1)
  count('press_active', 1)
  is_pressing = true
elseif evtype == 'press_prompt_end_response' then
  count('press_active', -1)
  is_pressing = false
elseif value then
  if active ~= '' then count(active, -1) end
  active = string.format('%s_active:%d', journey[1], value)
  count(active, 1)
elseif evtype == 'leave' then
  count('users', -1)
  if is_pressing then count('press_active', -1) end
  if active ~= '' then count(active, -1) end
  is_pressing, active = false, ''
end

if last_time == time then last_types = last_types .. ',' .. evtype else last_types = evtype end
redis.call('HSET', session_key, 'last_type', evtype, 'last_time', time_text, 'last_types', last_types,
  'pressing', is_pressing and '1' or '0', 'active', active)
local is_old = tonumber(now) - (tonumber(session[7] or session[8] or '') or 0) >= tonumber(counted_for_s)
if is_old then redis.call('HSET', session_key, 'counted_at', now) end
redis.call('EXPIRE', session_key, ttl_s)
redis.call('LPUSH', stored_key, message)
redis.call('LTRIM', stored_key, 0, stored_max - 1)
publish(KEYS[5], message)
return is_old and 1 or 0
