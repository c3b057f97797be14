-- The steps of the trace in KEYS[1]. A test compares the name with the declaration.
local trace = KEYS[1]

local function step_key(position) return trace .. ':step:' .. string.format('%d', position) end
