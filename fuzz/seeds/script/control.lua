local thread = coroutine.wrap(function(...) for i = 1, 3 do coroutine.yield(i, ...) end end)
local ok, problem = pcall(error, {err = 'E x'})
local shown = setmetatable({}, {__index = function(_, key) return key .. '!' end, __tostring = error})
local made = loadstring('return ...')
return {thread(1), problem, shown.k, made(2), select('#', unpack({1, 2, 3})), string.format('%5.1f %q', 1, 'a'), table.concat({1, 2}, ',')}
