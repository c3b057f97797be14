--[[
  Lets the rules speak that have waited for long enough: their conditions have held, or ceased to, since.

  KEYS  1 due   2 event_counter
  ARGV  1 now   2 created_at   3 tag   4 max
  Derives rule_state(<number>), event(<number>), said and events under the same hash tag.
  Returns how many spoke, whether there may be more, and when the next one is due.
]]
--- @include "say"

local NEXT = { pending = 'fired', clearing = 'resolved' }

-- What the rule has to say, said at this time.
local function say_now(kind, words)
  for at = 1, #words.fields, 2 do
    if words.fields[at] == 'created_at' then words.fields[at + 1] = created_at end
  end
  say(KEYS[2], tag .. words.event, tag .. words.events, kind, words.fields)
end

local spoke = 0
local members = call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, max)
for _, member in ipairs(members) do
  call('ZREM', KEYS[1], member)
  local name, bucket = member:match('^(%S+) (.+)$')
  local key = tag .. (name or '')
  -- Of a rule that was deleted, nothing is left.
  local word, words = (name and call('HGET', key, bucket) or ''):match('^(%a+) %d+ (.+)$')
  if word and NEXT[word] then
    call('HSET', key, bucket, NEXT[word] .. ' ' .. now)
    say_now(NEXT[word], cjson.decode(words))
    spoke = spoke + 1
  end
end
local first = call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return { spoke, #members == tonumber(max) and 1 or 0, first[2] or false }
