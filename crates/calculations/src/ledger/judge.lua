-- Rules: where they stand in a bucket.
--- @include "say"

-- When the first of the rules that wait is due.
local due_at = nil

-- Lets a rule wait in a bucket until the time has come, with what it has to say then. Names are documented ones, without the tag.
local function wait(key, bucket, word, from, ms, fields)
  local words = { event = event_prefix:sub(#tag + 1), events = KEYS[3]:sub(#tag + 1), fields = fields }
  call('HSET', key, bucket, word .. string.format(' %.0f ', from) .. cjson.encode(words))
  call('ZADD', KEYS[5], string.format('%.0f', from + ms), key:sub(#tag + 1) .. ' ' .. bucket)
  if not due_at or from + ms < due_at then due_at = from + ms end
end

-- Moves a rule on in a bucket: nothing, pending, fired, clearing, resolved.
-- Arguments: bucket, whether the condition holds, ms to hold, ms until resolved (empty for never), how often to fire, and the
-- fields of what it says.
local function judge(key, first, last)
  local bucket, holds = ARGV[first], ARGV[first + 1] == '1'
  local hold_ms, resolve_ms = tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3])
  local now_text, now = now, tonumber(now)
  local word, since = (call('HGET', key, bucket) or ''):match('^(%a+) (%d+)')
  since = tonumber(since)
  local fields = { unpack(ARGV, first + 5, last) }
  local member = key:sub(#tag + 1) .. ' ' .. bucket

  local function turn(new)
    call('HSET', key, bucket, new .. ' ' .. now_text)
    call('ZREM', KEYS[5], member)
  end
  local function tell(kind) say(KEYS[2], event_prefix, KEYS[3], kind, fields) end

  if holds then
    if word == 'clearing' then
      turn('fired')
    elseif word and word ~= 'pending' then
      if ARGV[first + 4] == 'update' then tell('fired') end
    elseif now - (since or now) >= hold_ms then
      turn('fired')
      tell('fired')
    else
      wait(key, bucket, 'pending', since or now, hold_ms, fields)
    end
  elseif word == 'pending' then
    call('HDEL', key, bucket)
    call('ZREM', KEYS[5], member)
  elseif resolve_ms and (word == 'fired' or word == 'clearing') then
    local from = word == 'clearing' and since or now
    if now - from >= resolve_ms then
      turn('resolved')
      tell('resolved')
    else
      wait(key, bucket, 'clearing', from, resolve_ms, fields)
    end
  end
end
