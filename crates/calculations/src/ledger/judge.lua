-- Rules: what they say, and when.
local call = redis.call

-- Writes an output event under the next number.
local function say(fields)
  local number = string.format('%.0f', call('INCR', KEYS[2]))
  call('HSET', ARGV[4] .. number, unpack(fields))
  call('SADD', KEYS[3], number)
end

-- Moves a rule on in a bucket: nothing, pending, fired, clearing, resolved.
-- Arguments: bucket, whether the condition holds, ms to hold, ms until resolved (empty for never), how often to fire, and the
-- fields of what it says.
local function judge(key, first, last)
  local bucket, holds, hold_ms, resolve_ms = ARGV[first], ARGV[first + 1] == '1', ARGV[first + 2], ARGV[first + 3]
  local word, since = (call('HGET', key, bucket) or ''):match('^(%a+) (%d+)$')
  local lasted = since and tonumber(ARGV[3]) - tonumber(since) or 0
  local function turn(new) call('HSET', key, bucket, new .. ' ' .. ARGV[3]) end
  local function tell(kind) say({ 'event_type', kind, unpack(ARGV, first + 5, last) }) end
  if holds then
    if not word and tonumber(hold_ms) > 0 then
      turn('pending')
    elseif not word or (word == 'pending' and lasted >= tonumber(hold_ms)) then
      turn('fired')
      tell('fired')
    elseif word == 'clearing' then
      turn('fired')
    elseif word ~= 'pending' and ARGV[first + 4] == 'update' then
      tell('fired')
    end
  elseif word == 'pending' then
    call('HDEL', key, bucket)
  elseif resolve_ms ~= '' and (word == 'fired' or word == 'clearing') then
    local wait = tonumber(resolve_ms)
    if wait == 0 or (word == 'clearing' and lasted >= wait) then
      turn('resolved')
      tell('resolved')
    elseif word == 'fired' then
      turn('clearing')
    end
  end
end
