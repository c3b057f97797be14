-- Puts what a process has taken back to the front, in order, and forgets the process.
local call = redis.call
local function put_back(waiting, taken, takers, taker)
  while call('LMOVE', taken, waiting, 'RIGHT', 'LEFT') do end
  call('ZREM', takers, taker)
end
