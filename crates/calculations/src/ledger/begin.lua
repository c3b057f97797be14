--[[
  Begins to calculate everything about a key afresh: from now on nobody else changes it.

  KEYS  1 head   2 calculations   3 intervals...
        The intervals of each calculation in the order of pairs.
  ARGV  1 builder   2 now   3 patience_ms   4 pairs...
        For each of the intervals, the calculation and the interval that are declared.
  Returns 1, or 0 when another is at it.
]]
local call = redis.call
local head = call('HMGET', KEYS[1], 'builder', 'builder_at')
-- A builder that has not got on for so long is taken to be dead.
local is_alive = head[1] and head[1] ~= builder and tonumber(now) - tonumber(head[2] or 0) < tonumber(patience_ms)
if is_alive then return 0 end
call('HSET', KEYS[1], 'builder', builder, 'builder_at', now)
for at = PAIRS_AT, #ARGV, 2 do
  call('SADD', KEYS[2], ARGV[at])
  call('SADD', KEYS[3 + (at - PAIRS_AT) / 2], ARGV[at + 1])
end
return 1
