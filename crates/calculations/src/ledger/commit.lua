--[[
  Makes the changes to a key that were computed from a snapshot of it, unless the key has changed since.

  KEYS  1 head   2 event_counter   3 events   4 changes   5 due   6 more...
  ARGV  1 version   2 built   3 now   4 event_prefix   5 tag   6 message   7 steps...
        A step is a command, the place of its key in more, the number of its arguments, and the arguments. Commands are those of
        Redis and two of our own: judge moves a rule on, observe counts a key that is first seen.
  Derives event(<number>), said and the rule_state(<number>) of observers under the same hash tag.
  Returns 1, or 0 when the key has changed, and when the first of the rules that have begun to wait is due.
]]
--- @include "publish"
--- @include "judge"

local head = call('HMGET', KEYS[1], 'version', 'builder')
if (head[1] or '0') ~= version or head[2] then return { 0, false } end

-- Counts a key that is new in its dimension, and tells the observers whose number it completes.
local function observe(key, name, buckets)
  if call('SADD', key, name) == 0 then return end
  for _, bucket in ipairs(cjson.decode(buckets)) do
    local seen = call('HINCRBY', KEYS[5 + bucket.key], bucket.label, 1)
    for _, rule in ipairs(bucket.rules) do
      if rule.trigger == seen and rule.hold_ms > 0 then
        wait(tag .. rule.state, bucket.label, 'pending', tonumber(now), rule.hold_ms, rule.fields)
      elseif rule.trigger == seen then
        say(KEYS[2], event_prefix, KEYS[3], 'fired', rule.fields)
      end
    end
  end
end

local at = STEPS_AT
while ARGV[at] do
  local command, key, count = ARGV[at], KEYS[5 + tonumber(ARGV[at + 1])], tonumber(ARGV[at + 2])
  local first, last = at + 3, at + 2 + count
  if command == 'judge' then
    judge(key, first, last)
  elseif command == 'observe' then
    observe(key, ARGV[first], ARGV[first + 1])
  else
    call(command, key, unpack(ARGV, first, last))
  end
  at = last + 1
end
call('HSET', KEYS[1], 'version', string.format('%.0f', tonumber(version) + 1), 'built', built)
publish(KEYS[4], message)
return { 1, due_at and string.format('%.0f', due_at) or false }
